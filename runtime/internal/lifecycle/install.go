// Package lifecycle has the modes of the binary: install, serve, start and run, and the supervisor that start and run
// share.
package lifecycle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sandlot.dev/runtime/internal/identity"
)

// BinaryName is the name of the installed binary.
const BinaryName = "sandlot-runtime"

// Announcement says where and for which ports Install publishes the identity of the sandbox.
type Announcement struct {
	// Path is a file that exists: the kubelet's, whose content it shows in the status of the pod. Elsewhere there is none.
	Path  string
	Ports []int
}

// Install copies the running binary into a folder that the containers of the pod mount, with a key beside it that no other
// sandbox has. It needs no shell and may run again.
func Install(dir string, to Announcement) error {
	if err := copyBinary(dir); err != nil {
		return err
	}
	public, err := identity.Create(dir)
	if err != nil {
		return err
	}
	message, err := identity.Message(public, to.Ports...)
	if err != nil {
		return err
	}
	return announce(to.Path, message)
}

func announce(path, message string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("publishing the key of the sandbox: %w", err)
	}
	_, err = file.WriteString(message)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("publishing the key of the sandbox: %w", err)
	}
	return nil
}

func copyBinary(dir string) error {
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
