package marks

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// ignoreDenied returns nil for what an image, a user or a read-only file system does not allow.
func ignoreDenied(err error) error {
	for _, denied := range []error{fs.ErrPermission, fs.ErrNotExist, unix.EROFS, unix.ENOTDIR} {
		if errors.Is(err, denied) {
			return nil
		}
	}
	return err
}
