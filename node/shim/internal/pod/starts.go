package pod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// startingPrefix begins the names of files in the folder of the pause container, one for each container that starts while its Pod
// is being restored. Its shim keeps it locked, and removes it when the container runs.
const startingPrefix = "sandlot-starting-"

// start is a container that starts while its Pod is being restored.
type start struct {
	file *os.File
}

// beginStart notes that this container starts, for the shim of the pause container. A runsc may go on without its shim: it
// then restores a container that containerd does not know and removes.
func (c container) beginStart() (start, error) {
	if !c.isRestoring() {
		return start{}, nil
	}
	file, err := os.Create(filepath.Join(c.pauseFolder(), startingPrefix+c.id))
	if err != nil {
		return start{}, err
	}
	return start{file}, unix.Flock(int(file.Fd()), unix.LOCK_EX)
}

// end notes that the container runs.
func (s start) end() error {
	if s.file == nil {
		return nil
	}
	return os.Remove(s.file.Name())
}

// leave unlocks the note. One that is still there is of a container that does not run.
func (s start) leave() { _ = s.file.Close() }

// waitForShims returns when the shims of all containers that gVisor has restored know that these run, and fails if one has died
// before.
func (c container) waitForShims(ctx context.Context) error {
	entries, err := os.ReadDir(c.pauseFolder())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id, isStart := strings.CutPrefix(entry.Name(), startingPrefix)
		if !isStart {
			continue
		}
		if err := waitForStart(ctx, filepath.Join(c.pauseFolder(), entry.Name())); err != nil {
			return fmt.Errorf("container %s: %w", id, err)
		}
	}
	return nil
}

func waitForStart(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookInterval):
		}
	}
	if _, err := os.Stat(path); err == nil {
		return errors.New("it did not start, or its shim died before it knew")
	}
	return nil
}
