// Package layers writes what changed in a tree of files as a layer of an image: a tar of the OCI format.
package layers

import (
	"cmp"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// longestPath is the longest path and link target, in bytes, that Linux takes.
const longestPath = unix.PathMax

// Entry is what is recorded of a file.
type Entry struct {
	// Path is relative to the root, without a slash in front.
	Path string
	// Mode has the type and the permissions, as stat(2) returns them.
	Mode         uint32
	UID, GID     uint32
	Size         int64
	Mtime, Ctime unix.Timespec
	Ino, Rdev    uint64
	// Target is where a symbolic link leads.
	Target string
	// Dev and Links find the other names of a file. An index does not have them.
	Dev, Links uint64
}

func (e Entry) kind() uint32      { return e.Mode & unix.S_IFMT }
func (e Entry) isDirectory() bool { return e.kind() == unix.S_IFDIR }
func (e Entry) isFile() bool      { return e.kind() == unix.S_IFREG }

// differsFrom says whether the file changed since the other entry. The change time tells of a content that was rewritten with its size
// and its time of modification kept.
func (e Entry) differsFrom(old Entry) bool {
	e.Dev, e.Links, old.Dev, old.Links = 0, 0, 0, 0
	if e.isDirectory() {
		// gVisor gives a directory of the image a new number when it forgot it in between.
		e.Ino, e.Size, old.Ino, old.Size = 0, 0, 0, 0
	}
	return e != old
}

// compare orders paths as a walk meets them: a directory, then all that is below it, then its next neighbour.
func compare(a, b string) int {
	shared := sharedLength(a, b)
	if shared == len(a) || shared == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(rank(a[shared]), rank(b[shared]))
}

// rank puts the slash before each byte of a name.
func rank(letter byte) int {
	if letter == '/' {
		return 0
	}
	return int(letter)
}

func sharedLength(a, b string) int {
	length := min(len(a), len(b))
	for index := range length {
		if a[index] != b[index] {
			return index
		}
	}
	return length
}

// isBelow says whether the path is a directory's, or of something in it. Nothing is below the empty path.
func isBelow(path, directory string) bool {
	rest, found := strings.CutPrefix(path, directory)
	return found && directory != "" && (rest == "" || rest[0] == '/')
}

// look returns what has this name in an open directory, under its path in the tree. It is false if there is nothing.
func look(in int, name, path string) (Entry, bool, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(in, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, false, unlessGone(err)
	}
	entry := entryOf(path, &stat)
	if entry.kind() != unix.S_IFLNK {
		return entry, true, nil
	}
	target := make([]byte, longestPath)
	length, err := unix.Readlinkat(in, name, target)
	if err != nil {
		return Entry{}, false, unlessGone(err)
	}
	entry.Target = string(target[:length])
	return entry, true, nil
}

func entryOf(path string, stat *unix.Stat_t) Entry {
	return Entry{
		Path: path, Mode: stat.Mode, UID: stat.Uid, GID: stat.Gid, Size: stat.Size, Mtime: stat.Mtim, Ctime: stat.Ctim,
		Ino: stat.Ino, Rdev: stat.Rdev, Dev: stat.Dev, Links: uint64(stat.Nlink),
	}
}

// unlessGone forgets an error that says that the file, or a directory on the way to it, was removed or replaced meanwhile.
func unlessGone(err error) error {
	for _, gone := range []error{unix.ENOENT, unix.ENOTDIR, unix.EINVAL, unix.ELOOP, unix.ENXIO, unix.ESTALE} {
		if errors.Is(err, gone) {
			return nil
		}
	}
	return err
}
