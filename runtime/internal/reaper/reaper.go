// Package reaper starts child processes and collects every exit of this process's children, its own and orphans that
// the kernel handed to it (as PID 1 or as a subreaper). One collector for all of them is what keeps a general wait
// from taking the status of a child that somebody else waits for; so nothing here may use os/exec or os.Process.
package reaper

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrGone says that a child has exited already and its number may belong to another process.
var ErrGone = errors.New("the process has exited")

// Reaper collects exits. There is one per process: make it with Run.
type Reaper struct {
	// mu is held for reading while a child is started or signalled and for writing while exits are collected: a child
	// is known before its exit can be collected, and a number is never signalled after it was given back.
	mu       sync.RWMutex
	children map[int]*Child
	childMu  sync.Mutex
}

// Child is a process started by a Reaper.
type Child struct {
	Pid    int
	reaper *Reaper
	done   chan struct{}
	status syscall.WaitStatus
	gone   bool
}

// Run makes this process the reaper of its orphaned descendants and collects exits until the process ends.
func Run() *Reaper {
	// Without it orphans go to PID 1 of the container, which may be a program that never waits. It fails only on
	// kernels older than any supported one.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	r := &Reaper{children: map[int]*Child{}}
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, syscall.SIGCHLD)
	go func() {
		for range exits {
			r.collect()
		}
	}()
	return r
}

// Start runs a program. The error is that of the fork, or of what the child did before and including exec.
func (r *Reaper) Start(path string, argv []string, attr *syscall.ProcAttr) (*Child, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	child := &Child{Pid: pid, reaper: r, done: make(chan struct{})}
	r.childMu.Lock()
	r.children[pid] = child
	r.childMu.Unlock()
	return child, nil
}

func (r *Reaper) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		child := r.children[pid]
		if child == nil {
			continue
		}
		delete(r.children, pid)
		child.status, child.gone = status, true
		close(child.done)
	}
}

// Done is closed once the child has exited.
func (c *Child) Done() <-chan struct{} { return c.done }

// Status is how the child ended; it is valid once Done is closed.
func (c *Child) Status() syscall.WaitStatus { return c.status }

// Signal sends a signal to the child alone. ErrGone after its exit.
func (c *Child) Signal(sig syscall.Signal) error { return c.kill(c.Pid, sig) }

// SignalGroup sends a signal to the process group the child leads. ErrGone after the exit of the child itself.
func (c *Child) SignalGroup(sig syscall.Signal) error { return c.kill(-c.Pid, sig) }

func (c *Child) kill(target int, sig syscall.Signal) error {
	c.reaper.mu.RLock()
	defer c.reaper.mu.RUnlock()
	if c.gone {
		return ErrGone
	}
	return syscall.Kill(target, sig)
}
