package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

// View is what a user may see of the files: what a path names without a symlink, and behind symlinks what the rights
// of the user reach.
type View struct {
	Session *session.Session
	User    users.User
}

// Entry describes an entry of a directory.
type Entry struct {
	Path string
	// Info is about the entry itself, also if it is a symlink.
	Info     fs.FileInfo
	Metadata map[string]string
	// Link is set for a symlink only.
	Link *Link
}

// Link is where a symlink leads.
type Link struct {
	// Target is the resolved path; the text of the symlink if it leads nowhere that the user may see.
	Target string
	// Info is nil if the symlink leads nowhere that the user may see.
	Info fs.FileInfo
}

// Stat follows symlinks.
func (v View) Stat(path string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := act(v.Session, path, v.User, func(p place) error {
		var err error
		if !p.direct {
			info, err = os.Stat(p.path())
			return err
		}
		if info, err = os.Lstat(p.path()); err == nil && isSymlink(info) {
			return errLink
		}
		return err
	})
	return info, err
}

// Look describes the entry at a path.
func (v View) Look(path string) (Entry, error) {
	found := make([]Entry, 1)
	err := act(v.Session, path, v.User, func(p place) error {
		var err error
		found[0], err = look(p, path)
		return err
	})
	if err == nil {
		err = v.follow(found)
	}
	return found[0], err
}

// List describes the entries of a directory in the order of their names, at most so many. It skips entries that vanish
// meanwhile.
func (v View) List(path string, most int) ([]Entry, error) {
	var found []Entry
	err := act(v.Session, path, v.User, func(p place) error {
		dir, err := openDir(p)
		if err != nil {
			return err
		}
		defer dir.Close()
		names, err := dir.Readdirnames(-1)
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			if len(found) == most {
				break
			}
			if entry, err := look(p.below(dir, name), filepath.Join(path, name)); err == nil {
				found = append(found, entry)
			}
		}
		return nil
	})
	if err == nil {
		err = v.follow(found)
	}
	return found, err
}

// ReadDir returns the names in a directory and which of them are directories.
func (v View) ReadDir(path string) ([]fs.DirEntry, error) {
	var found []fs.DirEntry
	err := act(v.Session, path, v.User, func(p place) error {
		dir, err := openDir(p)
		if err != nil {
			return err
		}
		defer dir.Close()
		found, err = dir.ReadDir(-1)
		return err
	})
	return found, err
}

// At passes a path to a system call that takes no open directory. The call must follow a symlink at the end of the path
// only if the second argument is true.
func (v View) At(path string, do func(path string, follow bool) error) error {
	return act(v.Session, path, v.User, func(p place) error {
		return p.orLink(do(p.path(), !p.direct))
	})
}

func look(p place, path string) (Entry, error) {
	info, err := os.Lstat(p.path())
	entry := Entry{Path: path, Info: info}
	if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		entry.Metadata = ownMetadata(p.path())
	}
	return entry, err
}

// follow completes the symlinks among entries, all on one thread with the rights of the user.
func (v View) follow(entries []Entry) error {
	links := []*Entry{}
	for i := range entries {
		if isSymlink(entries[i].Info) {
			links = append(links, &entries[i])
		}
	}
	if len(links) == 0 {
		return nil
	}
	resolve := func() error {
		for _, each := range links {
			each.resolve()
		}
		return nil
	}
	if lendsRights(v.Session, v.User) {
		return users.As(v.User, resolve)
	}
	return resolve()
}

func (e *Entry) resolve() {
	e.Link = &Link{}
	target, err := filepath.EvalSymlinks(e.Path)
	if err != nil {
		e.Link.Target, _ = os.Readlink(e.Path)
		return
	}
	e.Link.Target = target
	if info, err := os.Stat(target); err == nil {
		e.Link.Info = info
		e.Metadata = Metadata(target)
	}
}

func isSymlink(info fs.FileInfo) bool { return info.Mode()&fs.ModeSymlink != 0 }

// openDir opens a directory for reading its names.
func openDir(p place) (*os.File, error) {
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY|p.openFlag(), 0)
	if err != nil {
		return nil, p.orLink(err)
	}
	// Reading names looks up some of them by this path.
	return os.NewFile(uintptr(fd), p.path()), nil
}

// below returns the place of an entry of an open directory.
func (p place) below(dir *os.File, name string) place {
	if p.direct {
		return place{dir: int(dir.Fd()), name: name, direct: true, gives: p.gives}
	}
	return place{dir: unix.AT_FDCWD, name: filepath.Join(p.path(), name), gives: p.gives}
}

// orLink turns the error of a call that follows no symlink into errLink if there is one.
func (p place) orLink(err error) error {
	stopped := errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
	if p.direct && stopped && isType(p, unix.S_IFLNK) {
		return errLink
	}
	return err
}
