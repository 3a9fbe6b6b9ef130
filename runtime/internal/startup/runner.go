package startup

import (
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
)

const (
	// readyEvery is the pause after a ready command that failed, as in E2B.
	readyEvery = 2 * time.Second
	// readyLimit is how long the ready command may fail, as in E2B.
	readyLimit = 10 * time.Minute
)

// Runner runs the commands of a template. It belongs to the supervisor of the daemon: that lives as long as the container, so a daemon
// that is started again, or a sandbox that is restored, does not run them anew.
type Runner struct {
	Table    *process.Table
	Session  *session.Session
	Commands Commands
	// Witness is asked at the start of the start command who is to see what it does and prints.
	Witness func(pid int, spec process.Spec) process.Witness

	every, limit time.Duration
	progress     progress
}

// Begin runs the commands in the background, and answers at the address how far they are.
func (r *Runner) Begin(address string) error {
	r.progress.set("the start command has not started yet")
	listener, err := net.Listen("unix", address)
	if err != nil {
		return fmt.Errorf("listening for who asks whether the sandbox is ready: %w", err)
	}
	if r.limit == 0 {
		r.every, r.limit = readyEvery, readyLimit
	}
	go r.progress.serve(listener)
	go r.run()
	return nil
}

func (r *Runner) run() {
	if r.Commands.Start != "" {
		if err := r.start(); err != nil {
			r.fail(fmt.Sprintf("the start command cannot start: %v", err))
			return
		}
	}
	if err := r.awaitReady(); err != nil {
		r.fail(err.Error())
		return
	}
	r.progress.set(readyAnswer)
}

// fail is the end: the sandbox does not become ready any more.
func (r *Runner) fail(why string) {
	slog.Error("the sandbox does not become ready", "error", why)
	r.progress.set(why)
}

func (r *Runner) start() error {
	spec, err := r.build(r.Commands.Start)
	if err != nil {
		return err
	}
	running, output, err := r.Table.Start(spec, nil, nil)
	if err != nil {
		return err
	}
	witness := r.Witness(running.Pid, spec)
	go func() {
		end := follow(output, witness)
		slog.Info("the start command ended; it is not started again", "status", end.Status)
	}()
	return nil
}

// awaitReady runs the ready command until it exits with 0. One that cannot start now may start later.
func (r *Runner) awaitReady() error {
	const notYet = "the ready command has not succeeded yet"
	r.progress.set(notYet)
	deadline, last := time.Now().Add(r.limit), "it did not end"
	for {
		status := r.askReady(time.Until(deadline))
		if status == succeeded {
			return nil
		}
		if status != killed {
			last = status
		}
		if status == killed || time.Now().Add(r.every).After(deadline) {
			return fmt.Errorf("ready command timed out after %s: %s", r.limit, last)
		}
		r.progress.set(notYet + ": " + last)
		time.Sleep(r.every)
	}
}

// How a ready command may end, beside words for people.
const (
	succeeded = "succeeded"
	killed    = "killed"
)

// askReady runs the ready command once, and kills it after the limit.
func (r *Runner) askReady(limit time.Duration) string {
	spec, err := r.build(r.Commands.Ready)
	if err != nil {
		return err.Error()
	}
	running, output, err := r.Table.Start(spec, nil, nil)
	if err != nil {
		return err.Error()
	}
	var isKilled atomic.Bool
	running.KillAfter(limit, func() { isKilled.Store(true) })
	end := follow(output, blind{})
	switch {
	case end.OK():
		return succeeded
	case isKilled.Load():
		return killed
	default:
		return "it ended last with " + end.Status
	}
}

// build completes a command, for a login shell, as the default user in the default directory.
func (r *Runner) build(command string) (process.Spec, error) {
	user, err := r.Session.User("")
	if err != nil {
		return process.Spec{}, err
	}
	return r.Session.Spec(user, session.Command{Cmd: "/bin/bash", Args: []string{"-l", "-c", command}, Env: r.Commands.Env})
}

// follow shows the output of a process and its end to a witness.
func follow(output *process.Subscription, witness process.Witness) *process.End {
	defer output.Close()
	for event := range output.Events() {
		if event.End != nil {
			witness.Ended(event.End)
			return event.End
		}
		witness.Printed(event.Stream, event.Data)
	}
	return &process.End{Status: "unknown"}
}

// blind is a witness that forgets.
type blind struct{}

func (blind) Printed(process.Stream, []byte) {}
func (blind) Ended(*process.End)             {}
