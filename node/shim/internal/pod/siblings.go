package pod

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/log"
	"golang.org/x/sys/unix"
)

// others are the ids of the Pod's containers except for the pause container. containerd has the folders of all containers
// side by side; one that cannot be read is of a container that comes or goes.
func (c container) others() []string {
	folder := filepath.Dir(c.bundle)
	entries, _ := os.ReadDir(folder)
	var ids []string
	for _, entry := range entries {
		other, err := readContainer(entry.Name(), filepath.Join(folder, entry.Name()))
		if err == nil && other.sandbox == c.sandbox && !other.isPause() {
			ids = append(ids, other.id)
		}
	}
	return ids
}

// lockPod keeps the shims of the Pod's containers from deleting the same container at the same time, and returns what ends
// that. Who ends the sandbox locks exclusively, after it has killed the sandbox: a deletion may wait for the sandbox's end.
func (c container) lockPod(ctx context.Context, how int) func() {
	folder, err := os.Open(c.pauseFolder())
	if err == nil {
		err = flock(folder, how)
	}
	// Without the folder of the pause container no shim ends the sandbox any more.
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.G(ctx).WithError(err).Warnf("The shims of sandbox %s may delete a container at the same time", c.sandbox)
	}
	return func() { _ = folder.Close() }
}

// flock waits for the lock. The runtime's signals interrupt the wait.
func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
