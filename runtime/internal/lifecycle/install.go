// Package lifecycle has the modes of the binary: install, serve, start and run, and the supervisor that start and run
// share.
package lifecycle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// BinaryName is the name of the installed binary.
const BinaryName = "sandlot-runtime"

// Install copies the running binary into a folder that the containers of the pod mount. It needs no shell and may run
// again.
func Install(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	setSticky(dir)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the running binary: %w", err)
	}
	source, err := os.Open(self)
	if err != nil {
		return err
	}
	defer source.Close()
	partial, err := os.CreateTemp(dir, ".install-*")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	_, err = io.Copy(partial, source)
	if err == nil {
		err = partial.Chmod(0o755)
	}
	if closing := partial.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("copying the binary to %s: %w", dir, err)
	}
	return os.Rename(partial.Name(), filepath.Join(dir, BinaryName))
}

// setSticky sets the sticky bit on a folder that all users may write to, so that users of a container cannot replace each
// other's files. It fails silently if the daemon does not own the folder; then the pod has only one user.
func setSticky(dir string) {
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 {
		_ = os.Chmod(dir, info.Mode()|os.ModeSticky)
	}
}
