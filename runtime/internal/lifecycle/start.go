package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/startup"
	"sandlot.dev/runtime/internal/trust"
)

const (
	startTimeout = 30 * time.Second
	pollInterval = 5 * time.Millisecond
	pollTimeout  = time.Second
)

// Start starts a supervised daemon in the background and returns when it answers. If one answers already it does
// nothing, so that a hook may run twice.
func Start(c config.Config) error {
	if isAnswering(c.EnvdPort) {
		return nil
	}
	unlock := lock(c.Dir)
	defer unlock()
	if isAnswering(c.EnvdPort) {
		return nil
	}
	pid, err := detach()
	if err != nil {
		return fmt.Errorf("starting the daemon: %w", err)
	}
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(pollInterval) {
		if isAnswering(c.EnvdPort) {
			return nil
		}
		var status syscall.WaitStatus
		if ended, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err == nil && ended == pid {
			return errors.New("the daemon ended during its start; see the log of the container")
		}
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	return fmt.Errorf("the daemon does not answer on port %d after %s", c.EnvdPort, startTimeout)
}

// StartAnd starts the daemon and then executes a command, for containers whose hook runs a command already.
func StartAnd(c config.Config, argv []string) error {
	if err := Start(c); err != nil {
		return err
	}
	startup.TakeCommands()
	program, err := lookPath(argv[0])
	if err == nil {
		err = syscall.Exec(program, argv, withTrusted(os.Environ(), trust.Open(c.Dir).Variables()))
	}
	return fmt.Errorf("the daemon runs, but the hook cannot start its command: %s: %w", argv[0], err)
}

// lock keeps two concurrent starts from starting two daemons. Without a folder, the second daemon finds its port in
// use and ends.
func lock(dir string) (unlock func()) {
	if dir == "" {
		return func() {}
	}
	file, err := os.OpenFile(filepath.Join(dir, "start.lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return func() {}
	}
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	return func() { _ = file.Close() }
}

func detach() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	output := null
	// Kubernetes shows no output of a hook. The stderr of PID 1 goes to the log of the container.
	if log, err := os.OpenFile("/proc/1/fd/2", os.O_WRONLY|os.O_APPEND, 0); err == nil {
		defer log.Close()
		output = log
	}
	return syscall.ForkExec(self, []string{BinaryName, "supervise"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), output.Fd(), output.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

func isAnswering(port int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
	defer cancel()
	address := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/health"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	// No proxy: the environment may name one for the tenant's programs.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusNoContent
}
