package store

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"syscall"
)

const (
	defaultDirectory = 0o777
	defaultFile      = 0o666
	mostMode         = 0o777
)

// Wanted is how a client wants a file or a directory to be; nil: as it is by default.
type Wanted struct {
	UID, GID, Mode *uint32
	// Force makes the parents too, and takes what is there.
	Force bool
}

// check refuses owners: the server is one user, and only root may give files away.
func (w Wanted) check(uid, gid uint32) error {
	if w.UID != nil && *w.UID != uid || w.GID != nil && *w.GID != gid {
		return refuse(http.StatusBadRequest, "changing owners is not supported by this storage: files have the owner %d:%d", uid, gid)
	}
	if w.Mode != nil && *w.Mode > mostMode {
		return refuse(http.StatusBadRequest, "mode: expected permission bits, at most %d", mostMode)
	}
	return nil
}

func (w Wanted) mode(otherwise fs.FileMode) fs.FileMode {
	if w.Mode == nil {
		return otherwise
	}
	return fs.FileMode(*w.Mode)
}

func own() (uid, gid uint32) { return uint32(os.Geteuid()), uint32(os.Getegid()) }

// MakeDirectory makes a directory and describes it.
func (s *Store) MakeDirectory(id, given string, wanted Wanted) (Stat, error) {
	shown, inside, volume, err := s.begin(id, given, wanted)
	if err != nil {
		return Stat{}, err
	}
	defer volume.Close()
	if err := makeParents(volume, inside, shown, wanted.Force); err != nil {
		return Stat{}, err
	}
	err = volume.Mkdir(inside, wanted.mode(defaultDirectory))
	if wanted.Force && (errors.Is(err, fs.ErrExist) || inside == ".") {
		return takeDirectory(volume, inside, shown)
	}
	if err != nil {
		return Stat{}, explain(err, shown)
	}
	return describe(volume, inside, shown)
}

func takeDirectory(volume *os.Root, inside, shown string) (Stat, error) {
	info, err := volume.Stat(inside)
	if err == nil && !info.IsDir() {
		return Stat{}, refuse(http.StatusConflict, "path '%s' already exists, and is not a directory", shown)
	}
	if err != nil {
		return Stat{}, explain(err, shown)
	}
	return describe(volume, inside, shown)
}

// begin opens the volume of an operation that makes something.
func (s *Store) begin(id, given string, wanted Wanted) (shown, inside string, volume *os.Root, err error) {
	if shown, inside, err = clean(given); err != nil {
		return "", "", nil, err
	}
	if err = wanted.check(own()); err != nil {
		return "", "", nil, err
	}
	volume, err = s.volume(id)
	return shown, inside, volume, err
}

func makeParents(volume *os.Root, inside, shown string, isForced bool) error {
	parent := path.Dir(inside)
	if isForced {
		return explain(volume.MkdirAll(parent, defaultDirectory), path.Dir(shown))
	}
	info, err := volume.Stat(parent)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return explain(err, path.Dir(shown))
}

// Change gives what is at the path another mode, and describes it.
func (s *Store) Change(id, given string, wanted Wanted) (Stat, error) {
	shown, inside, err := clean(given)
	if err != nil {
		return Stat{}, err
	}
	volume, err := s.volume(id)
	if err != nil {
		return Stat{}, err
	}
	defer volume.Close()
	stat, err := describe(volume, inside, shown)
	if err != nil {
		return Stat{}, err
	}
	if err := wanted.check(stat.UID, stat.GID); err != nil {
		return Stat{}, err
	}
	if wanted.Mode != nil {
		if err := volume.Chmod(inside, fs.FileMode(*wanted.Mode)); err != nil {
			return Stat{}, explain(err, shown)
		}
	}
	return describe(volume, inside, shown)
}

// Delete removes what is at the path with all below it, and a link itself.
func (s *Store) Delete(id, given string) error {
	shown, inside, err := clean(given)
	if err != nil {
		return err
	}
	if inside == "." {
		return refuse(http.StatusBadRequest, "cannot delete root")
	}
	volume, err := s.volume(id)
	if err != nil {
		return err
	}
	defer volume.Close()
	if _, err := volume.Lstat(inside); err != nil {
		return explain(err, shown)
	}
	return explain(volume.RemoveAll(inside), shown)
}
