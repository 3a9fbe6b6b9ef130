// Package process runs the processes of a sandbox: start, input, output to any number of subscribers, signals, end
// (docs/reference/runtime.md#processes).
package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sandlot.dev/runtime/internal/reaper"
	"sandlot.dev/runtime/internal/users"
)

const (
	wantedShell = "/bin/bash"
	anyShell    = "/bin/sh"
)

// Size is the size of a terminal, in characters.
type Size struct{ Cols, Rows uint16 }

// Spec describes a process to start. Env and Dir are complete; nothing is added.
type Spec struct {
	Cmd  string
	Args []string
	Env  []string
	Dir  string
	User users.User
	// SwitchUser means that the daemon may start processes as other users; without it, User must be the daemon's own.
	SwitchUser bool
	// Terminal is the size of the terminal; nil means pipes.
	Terminal *Size
	// Stdin gives a process without a terminal a pipe as stdin instead of /dev/null.
	Stdin bool
	// OOMScoreAdj is added to the daemon's oom_score_adj, so that the kernel kills the workload before the daemon.
	OOMScoreAdj int
}

// StartError says why a process could not start, for the client.
type StartError struct {
	Cmd string
	Err error
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot start '%s': %s", e.Cmd, e.Err) }
func (e *StartError) Unwrap() error { return e.Err }

// launched is a started process and the daemon's ends of its streams.
type launched struct {
	child    *reaper.Child
	stdin    *os.File
	stdout   *os.File
	stderr   *os.File
	terminal *os.File
}

func launch(r *reaper.Reaper, spec Spec) (*launched, error) {
	program, err := find(spec)
	if err != nil {
		return nil, &StartError{Cmd: spec.Cmd, Err: err}
	}
	ends, err := openEnds(spec)
	if err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Files: ends.childFiles(), Sys: attributes(spec)}
	child, err := withOOMScore(spec.OOMScoreAdj, func() (*reaper.Child, error) {
		return r.Start(program, append([]string{nameOf(spec.Cmd, program)}, spec.Args...), attr)
	})
	users.RestoreDumps()
	ends.closeChild()
	if err != nil {
		ends.closeOwn()
		return nil, &StartError{Cmd: spec.Cmd, Err: err}
	}
	ends.own.child = child
	return &ends.own, nil
}

// nameOf returns argv[0]: the requested name, unless another shell runs in its place. Some programs act by their
// name.
func nameOf(asked, program string) string {
	if asked == wantedShell {
		return program
	}
	return asked
}

// attributes makes the process the leader of a session, so that its group can be signalled as a whole.
func attributes(spec Spec) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if spec.Terminal != nil {
		attributes.Setctty = true
		attributes.Ctty = 0
	}
	if spec.SwitchUser {
		attributes.Credential = &syscall.Credential{Uid: spec.User.UID, Gid: spec.User.GID, Groups: spec.User.Groups}
	}
	return attributes
}

// find returns the path of the program. It searches bare names in the PATH of the new process. Clients always request
// /bin/bash with options that /bin/sh understands too, so minimal images work.
func find(spec Spec) (string, error) {
	if spec.Cmd == "" {
		return "", errors.New("no command was given")
	}
	if spec.Cmd == wantedShell && !exists(wantedShell) && exists(anyShell) {
		return anyShell, nil
	}
	if strings.Contains(spec.Cmd, "/") {
		return spec.Cmd, nil
	}
	for _, dir := range filepath.SplitList(valueOf(spec.Env, "PATH")) {
		path := filepath.Join(spec.Dir, dir, spec.Cmd)
		if filepath.IsAbs(dir) {
			path = filepath.Join(dir, spec.Cmd)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New("executable file not found in $PATH")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func valueOf(env []string, name string) string {
	found := ""
	for _, each := range env {
		if value, ok := strings.CutPrefix(each, name+"="); ok {
			found = value
		}
	}
	return found
}
