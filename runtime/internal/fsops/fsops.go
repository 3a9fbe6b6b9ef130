// Package fsops has the file operations that several routes share. They act for a user, who owns what they create.
package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

const (
	dirMode  = 0o755
	fileMode = 0o666
)

// ErrNotRegular means that a path is a directory, device, pipe or socket.
var ErrNotRegular = errors.New("not a regular file")

// MakeDirs creates a directory and its missing parents, owned by the user. An existing directory stays unchanged.
func MakeDirs(s *session.Session, path string, user users.User) error {
	view := View{s, user}
	info, err := view.Stat(path)
	if err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MakeDirs(s, parent, user); err != nil {
			return err
		}
	}
	made := act(s, path, user, func(p place) error { return makeDir(p, user) })
	// Another process may have created it in between.
	if info, statErr := view.Stat(path); made != nil && statErr == nil && info.IsDir() {
		return nil
	}
	return made
}

// Create opens a file for writing and truncates it in place, so that watches and hard links keep working. It creates
// missing parents.
func Create(s *session.Session, path string, user users.User) (*os.File, error) {
	if err := MakeDirs(s, filepath.Dir(path), user); err != nil {
		return nil, err
	}
	var file *os.File
	err := act(s, path, user, func(p place) error {
		// The file is truncated only after it proves to be a regular file. O_NONBLOCK keeps a pipe without a reader from
		// blocking.
		opened, err := openAt(p, unix.O_WRONLY|unix.O_CREAT|unix.O_NONBLOCK, fileMode)
		if err != nil {
			return err
		}
		if err := prepare(opened, p, user); err != nil {
			_ = opened.Close()
			return err
		}
		file = opened
		return nil
	})
	return file, err
}

// prepare empties a file for the user. What a link led to keeps its owner: what is new there is the user's already.
func prepare(file *os.File, p place, user users.User) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	if p.direct && isOthersLink(info, user) {
		return errLink
	}
	if err := file.Truncate(0); err != nil || !p.gives {
		return err
	}
	return file.Chown(int(user.UID), int(user.GID))
}

// isOthersLink reports whether a file of another user has several names: this one may be planted.
func isOthersLink(info os.FileInfo, user users.User) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1 && stat.Uid != user.UID
}

// CreateNew creates a file of the user that did not exist, in an existing directory.
func CreateNew(s *session.Session, path string, user users.User) (*os.File, error) {
	var file *os.File
	err := act(s, path, user, func(p place) error {
		var err error
		if file, err = openAt(p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600); err != nil || !p.gives {
			return err
		}
		return file.Chown(int(user.UID), int(user.GID))
	})
	return file, err
}

// OpenRegular opens a regular file for reading. It follows symlinks with the rights of the user.
func OpenRegular(s *session.Session, path string, user users.User) (*os.File, os.FileInfo, error) {
	var file *os.File
	err := act(s, path, user, func(p place) error {
		var err error
		file, err = openAt(p, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// Remove removes a file or tree; a symlink itself, and not its target.
func Remove(s *session.Session, path string, user users.User) error {
	return act(s, path, user, func(p place) error { return os.RemoveAll(p.path()) })
}

// RemoveOne removes a file, a symlink or an empty directory.
func RemoveOne(s *session.Session, path string, user users.User) error {
	return act(s, path, user, func(p place) error { return os.Remove(p.path()) })
}

// OutOfSpace reports whether the disk or a quota is full.
func OutOfSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// BadPath reports whether the path itself is wrong for any user: a file in place of a directory, a loop of symlinks,
// a name that is too long.
func BadPath(err error) bool {
	for _, known := range []error{ErrNotRegular, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
