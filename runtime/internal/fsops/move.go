package fsops

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

// Move renames a file or tree and replaces a file at the destination. Between file systems it copies and deletes.
func Move(s *session.Session, source, destination string, user users.User) error {
	return act(s, source, user, func(from place) error {
		err := moveTo(from, destination)
		if err != nil && !errors.Is(err, errLink) {
			return fmt.Errorf("moving '%s' to '%s': %w", source, destination, err)
		}
		return err
	})
}

func moveTo(from place, destination string) error {
	dir, err := openParentFor(from, destination)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	to := place{dir: dir, name: filepath.Base(destination), direct: from.direct, gives: from.gives}
	// The kernel would replace an empty directory.
	if isType(to, unix.S_IFDIR) {
		return unix.EEXIST
	}
	err = unix.Renameat(from.dir, from.name, to.dir, to.name)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	if err := moveCopy(from, to); err != nil {
		return err
	}
	return os.RemoveAll(from.path())
}

// openParentFor opens the directory of the destination. It follows symlinks only where the move has the user's rights.
func openParentFor(from place, destination string) (int, error) {
	if from.direct {
		return openParent(destination)
	}
	return unix.Open(filepath.Dir(destination), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// moveCopy makes the copy in a folder beside the destination and renames it, so that it appears at once and complete.
func moveCopy(from, to place) error {
	partial, err := makePartial(to)
	if err != nil {
		return err
	}
	defer partial.remove()
	copied := place{dir: partial.dir, name: "copy", direct: true}
	if err := copyTree(from, copied, 0); err != nil {
		return err
	}
	return unix.Renameat(copied.dir, copied.name, to.dir, to.name)
}

// partial is an open folder that only the maker of a copy may enter. Others may rename it, so the copy reaches it by
// its descriptor alone.
type partial struct {
	beside place
	dir    int
}

func makePartial(to place) (partial, error) {
	beside := place{dir: to.dir, name: ".move-" + rand.Text(), gives: to.gives}
	if err := unix.Mkdirat(beside.dir, beside.name, 0o700); err != nil {
		return partial{}, err
	}
	dir, err := unix.Openat(beside.dir, beside.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return partial{}, err
	}
	if beside.gives && !isPrivate(dir) {
		_ = unix.Close(dir)
		return partial{}, fmt.Errorf("another process took the folder '%s': %w", beside.name, fs.ErrPermission)
	}
	return partial{beside, dir}, nil
}

// isPrivate reports whether only the daemon may enter a folder. Its name may lead to a folder of another user by now.
func isPrivate(dir int) bool {
	var stat unix.Stat_t
	err := unix.Fstat(dir, &stat)
	return err == nil && int(stat.Uid) == os.Geteuid() && stat.Mode&0o077 == 0
}

// remove leaves what another process put in the place of the folder.
func (p partial) remove() {
	_ = os.RemoveAll(place{dir: p.dir, name: "copy"}.path())
	_ = unix.Close(p.dir)
	_ = unix.Unlinkat(p.beside.dir, p.beside.name, unix.AT_REMOVEDIR)
}
