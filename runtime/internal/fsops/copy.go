package fsops

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// maxDepth bounds a tree that is copied: two directories are open for each level.
const maxDepth = 1000

// copyTree copies an entry. Code in the sandbox may change the tree meanwhile, so every step starts at an open directory,
// follows no symlink, and takes the attributes from what it opened.
func copyTree(from, to place, depth int) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(from.dir, from.name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return copyFile(from, to)
	case unix.S_IFLNK:
		return copyLink(from, to, stat)
	case unix.S_IFDIR:
		if depth == maxDepth {
			return fmt.Errorf("the tree has more than %d levels and cannot be moved to another file system: %w", maxDepth, unix.ENAMETOOLONG)
		}
		return copyDir(from, to, depth+1)
	}
	return fmt.Errorf("'%s' is a device, pipe or socket, which cannot be moved to another file system: %w", from.name, ErrNotRegular)
}

func copyFile(from, to place) error {
	source, stat, err := openSource(from, unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer source.Close()
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return ErrNotRegular
	}
	fd, err := unix.Openat(to.dir, to.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	target := os.NewFile(uintptr(fd), to.name)
	_, err = io.Copy(target, source)
	if err == nil {
		_, err = SetMetadata(target, fileMetadata(source))
	}
	if err == nil {
		err = copyAttributes(stat, target, to)
	}
	return errors.Join(err, target.Close())
}

func copyLink(from, to place, stat unix.Stat_t) error {
	text := make([]byte, unix.PathMax)
	length, err := unix.Readlinkat(from.dir, from.name, text)
	if err != nil {
		return err
	}
	if err := unix.Symlinkat(string(text[:length]), to.dir, to.name); err != nil {
		return err
	}
	if err := unix.Fchownat(to.dir, to.name, int(stat.Uid), int(stat.Gid), unix.AT_SYMLINK_NOFOLLOW); !isHarmless(err) {
		return err
	}
	return unix.UtimesNanoAt(to.dir, to.name, timesOf(stat), unix.AT_SYMLINK_NOFOLLOW)
}

func copyDir(from, to place, depth int) error {
	source, stat, err := openSource(from, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := unix.Mkdirat(to.dir, to.name, 0o700); err != nil {
		return err
	}
	fd, err := unix.Openat(to.dir, to.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	target := os.NewFile(uintptr(fd), to.name)
	defer target.Close()
	names, err := source.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyTree(place{dir: int(source.Fd()), name: name}, place{dir: fd, name: name}, depth); err != nil {
			return err
		}
	}
	return copyAttributes(stat, target, to)
}

// openSource opens what is copied, and returns what the kernel says of the open file.
func openSource(from place, flags int) (*os.File, unix.Stat_t, error) {
	var stat unix.Stat_t
	fd, err := unix.Openat(from.dir, from.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, stat, err
	}
	file := os.NewFile(uintptr(fd), from.name)
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = file.Close()
		return nil, stat, err
	}
	return file, stat, nil
}

// copyAttributes copies owner, mode and times. The owner comes first, because changing it clears special mode bits.
func copyAttributes(stat unix.Stat_t, copied *os.File, to place) error {
	fd := int(copied.Fd())
	if err := unix.Fchown(fd, int(stat.Uid), int(stat.Gid)); !isHarmless(err) {
		return err
	}
	if err := unix.Fchmod(fd, stat.Mode&0o7777); err != nil {
		return err
	}
	return unix.UtimesNanoAt(to.dir, to.name, timesOf(stat), unix.AT_SYMLINK_NOFOLLOW)
}

// isHarmless reports whether a change of the owner worked, or is not for this user.
func isHarmless(err error) bool { return err == nil || errors.Is(err, fs.ErrPermission) }

// timesOf sets both times to that of the last change, as the access for the copy means nothing.
func timesOf(stat unix.Stat_t) []unix.Timespec { return []unix.Timespec{stat.Mtim, stat.Mtim} }
