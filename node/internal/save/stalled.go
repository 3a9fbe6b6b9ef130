package save

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// beginLimit bounds how long gVisor may take to write the first byte of a save, which is the head of a file. It writes none
// while it deletes a container of a paused sandbox, and would wait for ever.
const beginLimit = 10 * time.Second

// errStalled is the cause of the end of a save that does not begin.
var errStalled = errors.New("gVisor does not begin to write: it may be deleting a container of this Pod, whose shim has died")

// endStalled cancels the save into the folder if it does not begin.
func endStalled(ctx context.Context, cancel context.CancelCauseFunc, folder string) {
	select {
	case <-ctx.Done():
	case <-time.After(beginLimit):
		if !hasBytes(folder) {
			cancel(errStalled)
		}
	}
}

// hasBytes reports whether a file in the folder has any. One that cannot be read counts as full: the save goes on.
func hasBytes(folder string) bool {
	paths, _ := filepath.Glob(filepath.Join(folder, "*.img"))
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() > 0 {
			return true
		}
	}
	return false
}
