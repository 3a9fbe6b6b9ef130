package fsops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

// errLink means that a symlink, or a second name of another user's file, leads to the target.
var errLink = errors.New("a link leads there")

// descriptors is the folder of the kernel that has the daemon's open directories.
const descriptors = "/proc/self/fd/"

// place is where an operation happens.
type place struct {
	// dir is an open directory, or AT_FDCWD.
	dir int
	// name is an entry of dir, or with AT_FDCWD a whole path.
	name string
	// direct means that no symlink led to dir and none may be followed: the operation has the daemon's rights.
	direct bool
	// gives means that what is written is given to the user. Otherwise it is the user's already, or keeps its owner.
	gives bool
}

// openFlag keeps an open from following a symlink.
func (p place) openFlag() int {
	if p.direct {
		return unix.O_NOFOLLOW | unix.O_CLOEXEC
	}
	return unix.O_CLOEXEC
}

// path names the entry for functions that take no directory. No symlink is followed before the last element of a
// direct place, because the kernel starts at the open directory.
func (p place) path() string {
	if p.dir == unix.AT_FDCWD {
		return p.name
	}
	return fmt.Sprintf("%s%d/%s", descriptors, p.dir, p.name)
}

// act does something at an absolute path. A daemon that runs as root has all rights wherever the client points. Code in
// the sandbox may plant a link on that path, which must lend it no rights: then the work has those of the user alone.
func act(s *session.Session, path string, user users.User, do func(place) error) error {
	if !lendsRights(s, user) {
		return named(path, do(place{dir: unix.AT_FDCWD, name: path, gives: s.Names().CanSwitch()}))
	}
	dir, err := openParent(path)
	if err == nil {
		err = do(place{dir: dir, name: filepath.Base(path), direct: true, gives: true})
		_ = unix.Close(dir)
	}
	if errors.Is(err, errLink) {
		err = users.As(user, func() error { return do(place{dir: unix.AT_FDCWD, name: path}) })
	}
	return named(path, err)
}

// lendsRights reports whether the daemon has rights that the user has not.
func lendsRights(s *session.Session, user users.User) bool {
	return s.Names().CanSwitch() && user.UID != 0
}

// named adds the path to an error of a system call, also in place of one that names an open directory.
func named(path string, err error) error {
	var errno syscall.Errno
	var known *fs.PathError
	switch {
	case errors.As(err, &known):
		if strings.HasPrefix(known.Path, descriptors) {
			known.Path = path
		}
	case errors.As(err, &errno) && errors.Unwrap(err) == nil:
		return &fs.PathError{Op: "open", Path: path, Err: errno}
	}
	return err
}

// openParent opens the directory of an entry. It returns errLink instead of following a symlink.
func openParent(path string) (int, error) {
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for element := range strings.SplitSeq(filepath.Dir(path), "/") {
		if element == "" {
			continue
		}
		next, err := unix.Openat(dir, element, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOTDIR) && isType(place{dir: dir, name: element}, unix.S_IFLNK) {
			err = errLink
		}
		_ = unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

// isType reports whether there is an entry of this type; no symlink is followed.
func isType(p place, kind uint32) bool {
	var stat unix.Stat_t
	err := unix.Fstatat(p.dir, p.name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && stat.Mode&unix.S_IFMT == kind
}

// openAt opens the entry and reports a symlink in the place of a direct entry as errLink.
func openAt(p place, flags int, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(p.dir, p.name, flags|p.openFlag(), mode)
	if p.direct && errors.Is(err, unix.ELOOP) {
		return nil, errLink
	}
	if errors.Is(err, unix.ENXIO) {
		return nil, ErrNotRegular
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p.name), nil
}

// makeDir makes one directory that belongs to the user.
func makeDir(p place, user users.User) error {
	if err := unix.Mkdirat(p.dir, p.name, dirMode); err != nil || !p.gives {
		return err
	}
	// By descriptor: the name may lead elsewhere by now.
	made, err := unix.Openat(p.dir, p.name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(made)
	var stat unix.Stat_t
	if err := unix.Fstat(made, &stat); err != nil || int(stat.Uid) != os.Geteuid() {
		return err
	}
	return unix.Fchown(made, int(user.UID), int(user.GID))
}
