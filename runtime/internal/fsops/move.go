package fsops

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

// Move renames a file or tree and replaces a file at the destination. Between file systems it copies and deletes.
func Move(s *session.Session, source, destination string, user users.User) error {
	return act(s, source, user, func(from place) error {
		if !from.direct {
			return move(from.name, destination)
		}
		dir, err := openParent(destination)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return move(from.path(), place{dir: dir, name: filepath.Base(destination)}.path())
	})
}

func move(source, destination string) error {
	err := os.Rename(source, destination)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	// The copy is made beside the destination and renamed, so that it appears at once and complete.
	partial, err := os.MkdirTemp(filepath.Dir(destination), ".move-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	copied := filepath.Join(partial, "copy")
	if err := copyTree(source, copied); err != nil {
		return err
	}
	if err := os.Rename(copied, destination); err != nil {
		return err
	}
	return os.RemoveAll(source)
}

func copyTree(source, destination string) error {
	info, err := os.Lstat(source)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case 0:
		err = copyFile(source, destination)
	case fs.ModeSymlink:
		err = copyLink(source, destination)
	case fs.ModeDir:
		err = copyDir(source, destination)
	default:
		return fmt.Errorf("'%s' is a device, pipe or socket, which cannot be moved to another file system: %w", source, ErrNotRegular)
	}
	if err != nil {
		return err
	}
	return copyAttributes(info, destination)
}

func copyFile(source, destination string) error {
	from, err := os.OpenFile(source, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(ErrNotRegular, err)
	}
	to, err := os.OpenFile(destination, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		_, err = SetMetadata(to, Metadata(source))
	}
	if closing := to.Close(); err == nil {
		err = closing
	}
	return err
}

func copyLink(source, destination string) error {
	target, err := os.Readlink(source)
	if err != nil {
		return err
	}
	return os.Symlink(target, destination)
}

func copyDir(source, destination string) error {
	if err := os.Mkdir(destination, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := copyTree(filepath.Join(source, entry.Name()), filepath.Join(destination, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyAttributes copies owner, mode and times. The owner comes first, because changing it clears special mode bits.
func copyAttributes(info fs.FileInfo, destination string) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := os.Lchown(destination, int(stat.Uid), int(stat.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		if err := os.Chmod(destination, info.Mode()); err != nil {
			return err
		}
	}
	at := unix.NsecToTimespec(info.ModTime().UnixNano())
	return unix.UtimesNanoAt(unix.AT_FDCWD, destination, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}
