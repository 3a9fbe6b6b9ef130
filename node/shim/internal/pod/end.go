package pod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/containerd/log"
	"gvisor.dev/gvisor/pkg/shim/v1/runsccmd"
)

// paused is gVisor's word for a sandbox that stands still.
const paused = "paused"

// endPaused ends the sandbox of the container if it stands still, and reports whether it did. gVisor delivers no signal to
// such a sandbox, so that its Pod would never end. After a save it must not go on either: what it did then would be lost.
func endPaused(ctx context.Context, c container) bool {
	return endIf(ctx, c, func(status string) bool { return status == paused })
}

// endSandbox ends the sandbox of the container, with all containers in it, and reports whether it did.
func endSandbox(ctx context.Context, c container) bool {
	return endIf(ctx, c, func(string) bool { return true })
}

func endIf(ctx context.Context, c container, has func(status string) bool) bool {
	command, err := c.command(ctx)
	if err != nil {
		log.G(ctx).WithError(err).Warnf("The state of sandbox %s is not known", c.sandbox)
		return false
	}
	// Only the pause container's own state says that the sandbox is paused. No state: the sandbox has ended.
	state, err := command.State(ctx, c.sandbox)
	if err != nil || !has(state.Status) {
		return false
	}
	err = checkSandbox(state.Pid, c.sandbox)
	if err == nil && state.Status == paused {
		err = markEndedPaused(c)
	}
	// A sandbox that is only killed counts as paused for ever, and gVisor refuses to delete it without force.
	if err == nil {
		err = command.Delete(ctx, c.sandbox, &runsccmd.DeleteOpts{Force: true})
	}
	if err != nil {
		log.G(ctx).WithError(err).Warnf("The sandbox %s, which is %s, does not end", c.sandbox, state.Status)
		return false
	}
	log.G(ctx).Infof("Ended sandbox %s, which was %s", c.sandbox, state.Status)
	return true
}

// markEndedPaused comes before the end, because the kubelet starts the Pod anew at once.
func markEndedPaused(c container) error {
	pause, err := c.readPause()
	if err != nil || pause.logs == "" {
		return err
	}
	return os.WriteFile(pause.endedPausedFile(), nil, 0o600)
}

// checkSandbox refuses a process that is not the sandbox: the number of one that has ended may be another's by now.
func checkSandbox(pid int, sandbox string) error {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(line) > 0 && !isSandbox(line, sandbox) {
		return fmt.Errorf("process %d is not sandbox %s", pid, sandbox)
	}
	return nil
}

// isSandbox reports whether the command line is that of gVisor's sandbox with this id.
func isSandbox(line []byte, sandbox string) bool {
	args := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
	return slices.ContainsFunc(args, func(arg []byte) bool { return string(arg) == "boot" }) && string(args[len(args)-1]) == sandbox
}
