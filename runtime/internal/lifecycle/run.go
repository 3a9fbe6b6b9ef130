package lifecycle

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/reaper"
	"sandlot.dev/runtime/internal/startup"
)

// The exit codes of a shell.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignalBase    = 128
)

// Run acts as PID 1 of a container around a command: it runs the daemon beside the command, forwards signals, reaps
// orphans, and returns the exit code of the command.
func Run(argv []string) int {
	reduceMemory()
	commands := startup.TakeCommands()
	trusted := trustBeforeCommand()
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	r := reaper.Run()
	daemon := &supervisor{reaper: r, output: os.Stderr}
	go daemon.keep()
	defer daemon.stop()
	defer beginStartup(r, commands)()

	program, err := lookPath(argv[0])
	if err == nil {
		var child *reaper.Child
		if child, err = r.Start(program, argv, commandAttributes(trusted)); err == nil {
			return follow(child, signals)
		}
	}
	slog.Error("cannot start the command of the container", "command", argv[0], "error", err.Error())
	if errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

func follow(child *reaper.Child, signals <-chan os.Signal) int {
	for {
		select {
		case <-child.Done():
			if status := child.Status(); status.Signaled() {
				return exitSignalBase + int(status.Signal())
			}
			return child.Status().ExitStatus()
		case each := <-signals:
			if sig, ok := each.(syscall.Signal); ok && isForwarded(sig) {
				_ = child.Signal(sig)
			}
		}
	}
}

// isForwarded excludes signals that concern this process: of its children, the Go scheduler, its pipes and its terminal.
func isForwarded(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGTSTP:
		return false
	}
	return true
}

// commandAttributes gives the command an environment and the files of this process. On a terminal the command becomes
// the foreground group, so that Ctrl-C reaches it once: from the terminal and not from here.
func commandAttributes(environment []string) *syscall.ProcAttr {
	attributes := &syscall.ProcAttr{Env: environment, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{}}
	if group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
		// The kernel stops a background process that takes the foreground, unless it ignores these signals.
		signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
		attributes.Sys.Setpgid = true
		attributes.Sys.Foreground = true
		attributes.Sys.Ctty = 0
	}
	return attributes
}

// lookPath finds a program like a container runtime does.
func lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	err := fs.ErrNotExist
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		info, statErr := os.Stat(path)
		if statErr != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return path, nil
		}
		err = fs.ErrPermission
	}
	return "", err
}
