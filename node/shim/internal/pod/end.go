package pod

import (
	"context"
	"os"
	"strings"

	"github.com/containerd/log"
	"golang.org/x/sys/unix"
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
	sandbox := holdProcess(state.Pid)
	defer sandbox.release()
	err = checkSandbox(sandbox.pid, c.sandbox)
	if err == nil && state.Status == paused {
		err = markEndedPaused(c)
	}
	if err == nil {
		err = c.end(ctx, command, sandbox)
	}
	if err != nil {
		log.G(ctx).WithError(err).Warnf("The sandbox %s, which is %s, does not end", c.sandbox, state.Status)
		return false
	}
	log.G(ctx).Infof("Ended sandbox %s, which was %s", c.sandbox, state.Status)
	return true
}

// end kills the sandbox and deletes what gVisor keeps of the Pod's containers. The pause container is the last: with it gVisor
// removes the Pod's cgroup, and retries for 5 seconds while the cgroup of another container is in there.
func (c container) end(ctx context.Context, command *runsccmd.Runsc, sandbox process) error {
	// A sandbox that is only killed counts as paused for ever, and gVisor refuses to delete it without force. With force it
	// counts a container that is not there as deleted.
	force := &runsccmd.DeleteOpts{Force: true}
	// gVisor asks a sandbox that is not gone to end a container. Without an answer it forgets the container's cgroup.
	if sandbox.kill(ctx) {
		defer c.lockPod(ctx, unix.LOCK_EX)()
		if c.isDeleted(ctx, command) {
			return nil
		}
		for _, id := range c.others() {
			if err := command.Delete(ctx, id, force); err != nil {
				log.G(ctx).WithError(err).Warnf("Container %s, whose sandbox has ended, is not deleted completely", id)
			}
		}
	}
	// gVisor also kills the process with the sandbox's number, which may be another's by now.
	if err := checkSandbox(sandbox.pid, c.sandbox); err != nil {
		return err
	}
	return command.Delete(ctx, c.sandbox, force)
}

// isDeleted reports whether another shim has ended the sandbox: when it dies, containerd kills each container of the Pod.
func (c container) isDeleted(ctx context.Context, command *runsccmd.Runsc) bool {
	_, err := command.State(ctx, c.sandbox)
	return err != nil && strings.Contains(err.Error(), "does not exist")
}

// markEndedPaused comes before the end, because the kubelet starts the Pod anew at once.
func markEndedPaused(c container) error {
	pause, err := c.readPause()
	if err != nil || pause.logs == "" {
		return err
	}
	return os.WriteFile(pause.endedPausedFile(), nil, 0o600)
}
