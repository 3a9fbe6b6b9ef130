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
	"sandlot.dev/runtime/internal/startup"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// healthy is how long the daemon must run before the back-off starts again at firstPause.
	healthy = 30 * time.Second
	// trimAfter is when the startup work of a supervisor is done.
	trimAfter = time.Second
)

// reduceMemory reduces the memory of a process that only waits.
func reduceMemory() {
	runtime.GOMAXPROCS(1)
	time.AfterFunc(trimAfter, idle.Trim)
}

// supervisor runs a daemon in a process of its own, so that the container survives the end of the daemon.
type supervisor struct {
	reaper *reaper.Reaper
	output *os.File

	mu      sync.Mutex
	child   *reaper.Child
	stopped bool
}

// keep restarts the daemon whenever it ends, until stop.
func (s *supervisor) keep() {
	pause := firstPause
	for {
		began := time.Now()
		child, err := s.launch()
		if child == nil && err == nil {
			return
		}
		if err != nil {
			slog.Error("cannot start the daemon; retrying", "error", err)
		} else {
			<-child.Done()
		}
		if s.isStopped() {
			return
		}
		if err == nil {
			slog.Error("the daemon ended; restarting it", "status", int(child.Status()))
		}
		if time.Since(began) > healthy {
			pause = firstPause
		}
		time.Sleep(pause)
		pause = min(2*pause, lastPause)
	}
}

// launch starts the daemon in a session of its own, so that signals of a terminal reach only the command. It returns
// no child after stop.
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

// stop ends the daemon and returns its last child, if any.
func (s *supervisor) stop() *reaper.Child {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.child != nil {
		_ = s.child.Signal(syscall.SIGTERM)
	}
	return s.child
}

// Supervise runs the daemon and restarts it when it ends, until SIGTERM or SIGINT.
func Supervise() error {
	reduceMemory()
	commands := startup.TakeCommands()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	s := &supervisor{reaper: reaper.Run(), output: os.Stderr}
	if !commands.AreNone() {
		_ = trustBeforeCommand()
		defer beginStartup(s.reaper, commands)()
	}
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
