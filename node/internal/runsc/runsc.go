// Package runsc runs the command line of gVisor on the containers of a node.
package runsc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"sandlot.dev/node/internal/fingerprint"
)

const (
	mostOutput = 16 << 20
	// mostTail bounds each of the two ends that an error keeps of a long output: some begin with the reason.
	mostTail = 1 << 10
	// goodbye is how long a killed runsc may hold its pipes.
	goodbye = 2 * time.Second
)

// Runsc runs one installation of gVisor.
type Runsc struct {
	// Binary is the program.
	Binary string
	// Root is the folder in which it keeps the state of containers.
	Root string
	// Flags stand before each verb, beside --root.
	Flags  []string
	Limits Limits
}

// Limits bound how long each kind of command may take.
type Limits struct {
	// Brief is for all commands but Checkpoint and Restore.
	Brief time.Duration
	// Checkpoint is for a save.
	Checkpoint time.Duration
	// Restore is for a start from a snapshot.
	Restore time.Duration
}

// Error is a command that failed, with both ends of what it printed.
type Error struct {
	Verb string
	Tail string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("runsc %s: %v: %s", e.Verb, e.Err, e.Tail)
}

func (e *Error) Unwrap() error { return e.Err }

// Pause stops all processes of the sandbox. A runsc that dies here can leave a sandbox that stands still while its state
// says that it runs, so the command survives the agent. Held stays open until the command ends.
func (r Runsc) Pause(ctx context.Context, sandbox string, held *os.File) error {
	_, err := r.run(ctx, command{verb: "pause", args: []string{sandbox}, held: held, limit: r.Limits.Brief})
	return err
}

// IsUnrecorded reports whether a pause may have stopped the sandbox although its state says that it runs: gVisor could not
// write the state, did not end, or was killed. Such a sandbox cannot be resumed.
func IsUnrecorded(pause error) bool {
	failed, isOurs := errors.AsType[*Error](pause)
	if !isOurs {
		return false
	}
	exit, isOver := errors.AsType[*exec.ExitError](failed.Err)
	return !isOver || !exit.Exited() || strings.Contains(failed.Tail, "saving container metadata")
}

// Resume lets a paused sandbox go on.
func (r Runsc) Resume(ctx context.Context, sandbox string) error {
	_, err := r.run(ctx, command{verb: "resume", args: []string{sandbox}, limit: r.Limits.Brief})
	return err
}

// CheckpointOptions say how to save.
type CheckpointOptions struct {
	// Folder receives the files.
	Folder string
	// LeaveRunning keeps the sandbox: it goes on, or stays paused if it was.
	LeaveRunning bool
	// Direct bypasses the page cache.
	Direct bool
	// Held stays open until the command ends.
	Held *os.File
}

// Checkpoint saves the sandbox with all its containers, without compression, so that a restore can load pages in the background.
func (r Runsc) Checkpoint(ctx context.Context, sandbox string, options CheckpointOptions) error {
	args := []string{"--image-path", options.Folder, "--compression", "none", "--exclude-committed-zero-pages"}
	if options.LeaveRunning {
		args = append(args, "--leave-running")
	}
	if options.Direct {
		args = append(args, "--direct")
	}
	_, err := r.run(ctx, command{verb: "checkpoint", args: append(args, sandbox), held: options.Held, limit: r.Limits.Checkpoint})
	return err
}

// SaveFiles writes the root file systems of all containers of the sandbox to the folder, in gVisor's own format. The sandbox
// goes on, or stays paused if it was.
func (r Runsc) SaveFiles(ctx context.Context, sandbox, folder string, held *os.File) error {
	_, err := r.run(ctx, command{verb: "fscheckpoint", args: []string{"--image-path", folder, "--leave-running", sandbox}, held: held, limit: r.Limits.Checkpoint})
	return err
}

// RestoreOptions say how to restore.
type RestoreOptions struct {
	// Folder has the files of a checkpoint, Bundle the container's config.json.
	Folder, Bundle string
	Direct         bool
	// Background lets the sandbox go on while its pages are loaded.
	Background bool
}

// Restore makes the container from a checkpoint. Of a Pod with several containers it restores the first one.
func (r Runsc) Restore(ctx context.Context, container string, options RestoreOptions) error {
	args := []string{"--image-path", options.Folder, "--bundle", options.Bundle, "--detach"}
	if options.Direct {
		args = append(args, "--direct")
	}
	if options.Background {
		args = append(args, "--background")
	}
	_, err := r.run(ctx, command{verb: "restore", args: append(args, container), limit: r.Limits.Restore})
	return err
}

// Usage returns how much memory the sandbox has taken from this machine, in bytes: that of its programs, and of the files
// that gVisor keeps in memory.
func (r Runsc) Usage(ctx context.Context, sandbox string) (int64, error) {
	out, err := r.run(ctx, command{verb: "usage", args: []string{sandbox}, limit: r.Limits.Brief})
	if err != nil {
		return 0, err
	}
	var usage struct {
		Total int64
	}
	if err := json.Unmarshal(out, &usage); err != nil || usage.Total <= 0 {
		return 0, &Error{Verb: "usage", Tail: tail(out), Err: errors.Join(errors.New("it names no total"), err)}
	}
	return usage.Total, nil
}

// Fingerprint describes this machine and this gVisor.
func (r Runsc) Fingerprint(ctx context.Context) (fingerprint.Fingerprint, error) {
	version, err := r.run(ctx, command{verb: "--version", limit: r.Limits.Brief})
	if err != nil {
		return fingerprint.Fingerprint{}, err
	}
	features, err := r.run(ctx, command{verb: "cpu-features", limit: r.Limits.Brief})
	if err != nil {
		return fingerprint.Fingerprint{}, err
	}
	parts := readVersion(string(version))
	parts.Architecture = runtime.GOARCH
	parts.CPUFeatures = readFeatures(string(features))
	if parts.RunscVersion == "" || parts.OCIVersion == "" || len(parts.CPUFeatures) == 0 {
		return fingerprint.Fingerprint{}, fmt.Errorf("%s does not name its version and the features of the processor: is it gVisor's runsc? It printed %q", r.Binary, version)
	}
	return fingerprint.Build(parts), nil
}

// readVersion reads the output of runsc --version.
func readVersion(text string) fingerprint.Parts {
	var parts fingerprint.Parts
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if version, found := strings.CutPrefix(line, "runsc version "); found {
			parts.RunscVersion = version
		}
		if version, found := strings.CutPrefix(line, "spec: "); found {
			parts.OCIVersion = version
		}
	}
	return parts
}

// readFeatures reads the output of runsc cpu-features.
func readFeatures(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
}

// List returns all containers, also those of other programs than Kubernetes.
func (r Runsc) List(ctx context.Context) ([]Container, error) {
	out, err := r.run(ctx, command{verb: "list", args: []string{"-format", "json"}, limit: r.Limits.Brief})
	if err != nil {
		return nil, err
	}
	var containers []Container
	if err := json.Unmarshal(out, &containers); err != nil {
		return nil, &Error{Verb: "list", Tail: tail(out), Err: err}
	}
	return containers, nil
}

// State returns one container.
func (r Runsc) State(ctx context.Context, id string) (Container, error) {
	out, err := r.run(ctx, command{verb: "state", args: []string{id}, limit: r.Limits.Brief})
	if err != nil {
		return Container{}, err
	}
	var c Container
	if err := json.Unmarshal(out, &c); err != nil {
		return Container{}, &Error{Verb: "state", Tail: tail(out), Err: err}
	}
	return c, nil
}

type command struct {
	verb string
	args []string
	// held is an open file that the command inherits; nil: none.
	held  *os.File
	limit time.Duration
}

// run returns what the command printed. A command that takes too long, or whose caller gives up, is killed.
func (r Runsc) run(ctx context.Context, c command) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("no end after %s", c.limit))
	defer cancel()
	args := append(append([]string{"--root", r.Root}, r.Flags...), c.verb)
	cmd := exec.CommandContext(ctx, r.Binary, append(args, c.args...)...)
	// A process group of its own: signals for the agent's group do not end it in the middle of its work.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = goodbye
	if c.held != nil {
		cmd.ExtraFiles = []*os.File{c.held}
	}
	out, errs := &buffer{most: mostOutput}, &buffer{most: mostOutput}
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return nil, &Error{Verb: c.verb, Tail: tail(errs.Bytes()), Err: err}
	}
	return out.Bytes(), nil
}

// buffer keeps the beginning of what is written to it.
type buffer struct {
	bytes.Buffer
	most int
}

func (b *buffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}

func tail(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) <= 2*mostTail {
		return string(text)
	}
	return fmt.Sprintf("%s … %s", text[:mostTail], text[len(text)-mostTail:])
}
