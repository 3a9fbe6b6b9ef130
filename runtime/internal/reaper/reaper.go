// Package reaper starts child processes and collects every exit: of its own children and of orphans that the kernel
// hands to it as PID 1 or subreaper. There is only one collector, because a general wait would take the exit status
// of a child that another goroutine waits for. For the same reason no code of the daemon may use os/exec or
// os.Process.
package reaper

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrGone means that a child has exited and its PID may belong to another process.
var ErrGone = errors.New("the process has exited")

// Reaper collects exits. Run creates the only one of the process.
type Reaper struct {
	// mu is locked for reading to start or signal a child, and for writing to collect exits. So a child is known
	// before its exit is collected, and no PID is signalled after the kernel may have reused it.
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
	// Without it orphans go to PID 1 of the container, which may never wait for them. It fails only on unsupported
	// old kernels.
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

// Start starts a program. The error is from the fork, or from the child up to and including its exec.
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

// Done is closed after the child has exited.
func (c *Child) Done() <-chan struct{} { return c.done }

// Status returns the wait status; it is valid after Done.
func (c *Child) Status() syscall.WaitStatus { return c.status }

// Signal sends a signal to the child only. ErrGone after its exit.
func (c *Child) Signal(sig syscall.Signal) error { return c.kill(c.Pid, sig) }

// SignalGroup sends a signal to the process group of the child. ErrGone after the exit of the child itself.
func (c *Child) SignalGroup(sig syscall.Signal) error { return c.kill(-c.Pid, sig) }

func (c *Child) kill(target int, sig syscall.Signal) error {
	c.reaper.mu.RLock()
	defer c.reaper.mu.RUnlock()
	if c.gone {
		return ErrGone
	}
	return syscall.Kill(target, sig)
}
