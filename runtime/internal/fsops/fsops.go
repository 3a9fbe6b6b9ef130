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
	info, err := os.Stat(path)
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
	if err := os.Mkdir(path, dirMode); err != nil {
		// Another process may have created it in between.
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil
		}
		return err
	}
	return s.Chown(path, user)
}

// Create opens a file for writing and truncates it in place, so that watches and hard links keep working. It creates
// missing parents.
func Create(s *session.Session, path string, user users.User) (*os.File, error) {
	if err := MakeDirs(s, filepath.Dir(path), user); err != nil {
		return nil, err
	}
	// The file is truncated only after it proves to be a regular file. O_NONBLOCK keeps a pipe without a reader from
	// blocking.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NONBLOCK, fileMode)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) {
			return nil, ErrNotRegular
		}
		return nil, err
	}
	if err := prepare(s, file, user); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func prepare(s *session.Session, file *os.File, user users.User) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	return s.ChownFile(file, user)
}

// OpenRegular opens a regular file for reading and follows symlinks.
func OpenRegular(path string) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) {
			return nil, nil, ErrNotRegular
		}
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
