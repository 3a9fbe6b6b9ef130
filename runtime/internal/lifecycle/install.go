// Package lifecycle has the modes in which the binary gets into a container and stays there: install, start, run and the
// supervision both of the latter share.
package lifecycle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// BinaryName is the name of the installed binary.
const BinaryName = "sandlot-runtime"

// Install copies the running binary into a folder that containers of the pod mount. It needs no shell in the image and
// may run again.
func Install(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stick(dir)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the own binary: %w", err)
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

// stick keeps the users of a container from replacing what is another's in a folder that all may write to. It does
// nothing for who does not own the folder: that is the one user of the pod, who has nobody to guard against.
func stick(dir string) {
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 {
		_ = os.Chmod(dir, info.Mode()|os.ModeSticky)
	}
}
