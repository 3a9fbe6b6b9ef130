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

// enforcer keeps the kernel's table in line with the cluster. One goroutine applies changes, and applies those that
// arrive meanwhile together.
type enforcer struct {
	observe func() snapshot
	changes chan struct{}

	mu      sync.Mutex
	waiting []chan error
}

func newEnforcer() *enforcer { return &enforcer{changes: make(chan struct{}, 1)} }

// enqueue makes the enforcer compute and apply the table again soon.
func (e *enforcer) enqueue() {
	select {
	case e.changes <- struct{}{}:
	default:
	}
}

// waitUntilApplied returns when the kernel has every change that the informers had received before the call.
func (e *enforcer) waitUntilApplied(ctx context.Context) error {
	done := make(chan error, 1)
	e.mu.Lock()
	e.waiting = append(e.waiting, done)
	e.mu.Unlock()
	e.enqueue()
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
		case <-e.changes:
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
			// nft applies all or nothing, but the state of the kernel is now uncertain: write the whole table next time.
			applied = nil
			log.Print(err)
			time.AfterFunc(retryAfter, e.enqueue)
		}
		for _, done := range waiting {
			done <- err
		}
	}
}

func apply(ctx context.Context, applied *table, wanted table, s snapshot) error {
	var script string
	if applied == nil {
		script = formatTable(wanted, s)
	} else {
		script = formatDifference(*applied, wanted)
	}
	if script == "" {
		return nil
	}
	command := exec.CommandContext(ctx, "nft", "-f", "-")
	command.Stdin = strings.NewReader(script)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, output)
	}
	return nil
}
