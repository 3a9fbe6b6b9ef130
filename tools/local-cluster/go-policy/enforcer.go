package main

import (
	"context"
	"fmt"
	"log"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const retryAfter = time.Second

// enforcer keeps the kernel's table as the cluster wants it. One goroutine applies; whatever changes meanwhile is
// applied together.
type enforcer struct {
	observe func() snapshot
	wake    chan struct{}

	mu      sync.Mutex
	waiting []chan error
}

func newEnforcer() *enforcer { return &enforcer{wake: make(chan struct{}, 1)} }

// changed asks for the table to be looked at, some time soon.
func (e *enforcer) changed() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// settle returns when what was known at its call is in the kernel.
func (e *enforcer) settle(ctx context.Context) error {
	done := make(chan error, 1)
	e.mu.Lock()
	e.waiting = append(e.waiting, done)
	e.mu.Unlock()
	e.changed()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *enforcer) run(ctx context.Context) {
	var applied *table
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		e.mu.Lock()
		waiting := e.waiting
		e.waiting = nil
		e.mu.Unlock()
		s := e.observe()
		wanted := compile(s)
		err := apply(ctx, applied, wanted, s)
		applied = &wanted
		if err != nil {
			// The kernel took nothing of it, but what it has is a matter of belief then: all anew.
			applied = nil
			log.Print(err)
			time.AfterFunc(retryAfter, e.changed)
		}
		for _, done := range waiting {
			done <- err
		}
	}
}

func apply(ctx context.Context, applied *table, wanted table, s snapshot) error {
	var script string
	if applied == nil {
		script = full(wanted, s)
	} else {
		script = difference(*applied, wanted)
	}
	if script == "" {
		return nil
	}
	command := exec.CommandContext(ctx, "nft", "-f", "-")
	command.Stdin = strings.NewReader(script)
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, said)
	}
	return nil
}
