package lifecycle

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/idle"
	"sandlot.dev/runtime/internal/reaper"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// healthy is how long the daemon must have run for the next pause to be the first again.
	healthy = 30 * time.Second
	// trimAfter is when a supervisor has done what it does at its start.
	trimAfter = time.Second
)

// beSmall is for a process that only waits.
func beSmall() {
	runtime.GOMAXPROCS(1)
	time.AfterFunc(trimAfter, idle.Trim)
}

// supervisor keeps a daemon running in a process of its own, so that its end is not that of the container.
type supervisor struct {
	reaper *reaper.Reaper
	output *os.File

	mu      sync.Mutex
	child   *reaper.Child
	stopped bool
}

// keep starts the daemon again whenever it ends, until stop.
func (s *supervisor) keep() {
	pause := firstPause
	for {
		began := time.Now()
		child, err := s.launch()
		if child == nil && err == nil {
			return
		}
		if err != nil {
			slog.Error("the daemon cannot be started", "error", err)
		} else {
			<-child.Done()
		}
		if s.isStopped() {
			return
		}
		if err == nil {
			slog.Error("the daemon ended and is started again", "status", int(child.Status()))
		}
		if time.Since(began) > healthy {
			pause = firstPause
		}
		time.Sleep(pause)
		pause = min(2*pause, lastPause)
	}
}

// launch starts the daemon in a session of its own: signals of a terminal are for the command only. It returns no child
// once the supervisor was stopped.
func (s *supervisor) launch() (*reaper.Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	output := s.output
	if output == nil {
		output = null
	}
	s.child, err = s.reaper.Start(self, []string{BinaryName, "serve"}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), output.Fd(), output.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	return s.child, err
}

func (s *supervisor) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// stop ends the daemon for good and returns its last child, if any.
func (s *supervisor) stop() *reaper.Child {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.child != nil {
		_ = s.child.Signal(syscall.SIGTERM)
	}
	return s.child
}

// Supervise runs the daemon and starts it again when it ends, until a signal to end.
func Supervise() error {
	beSmall()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	s := &supervisor{reaper: reaper.Run(), output: os.Stderr}
	go s.keep()
	<-end
	child := s.stop()
	if child == nil {
		return nil
	}
	select {
	case <-child.Done():
		return nil
	case <-time.After(lastPause):
		_ = child.SignalGroup(syscall.SIGKILL)
		return fmt.Errorf("the daemon did not end within %s", lastPause)
	}
}
