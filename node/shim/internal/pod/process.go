package pod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mostDying is how long a killed sandbox may take: the kernel frees its memory first.
	mostDying = 30 * time.Second
	// lookInterval is the time between two looks at a dying sandbox.
	lookInterval = 10 * time.Millisecond
)

// process is a process that a signal reaches for certain: its number may be another's after its end, the handle never is.
type process struct {
	pid, handle int
	isGone      bool
}

// holdProcess must come before the check of what the process is.
func holdProcess(pid int) process {
	if pid <= 0 {
		return process{pid: pid, handle: -1, isGone: true}
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return process{pid: pid, handle: -1, isGone: errors.Is(err, unix.ESRCH)}
	}
	return process{pid: pid, handle: handle}
}

func (p process) release() {
	if p.handle >= 0 {
		_ = unix.Close(p.handle)
	}
}

// kill ends the process and reports whether it is gone: not only dead, but also no longer known to the kernel. gVisor takes
// a dead process that its parent has not collected for one that runs.
func (p process) kill(ctx context.Context) bool {
	if p.handle < 0 {
		return p.isGone
	}
	ctx, cancel := context.WithTimeout(ctx, mostDying)
	defer cancel()
	err := unix.PidfdSendSignal(p.handle, unix.SIGKILL, nil, 0)
	for err == nil {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(lookInterval):
			err = unix.PidfdSendSignal(p.handle, 0, nil, 0)
		}
	}
	return errors.Is(err, unix.ESRCH)
}

// checkSandbox refuses a process that is not the sandbox: the number of one that has ended may be another's by now.
func checkSandbox(pid int, sandbox string) error {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if isEnded(err) {
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

// isEnded reports whether a file below /proc could not be read because its process has ended, before it was opened or since.
func isEnded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// isSandbox reports whether the command line is that of gVisor's sandbox with this id.
func isSandbox(line []byte, sandbox string) bool {
	args := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
	return slices.ContainsFunc(args, func(arg []byte) bool { return string(arg) == "boot" }) && string(args[len(args)-1]) == sandbox
}
