// Package store has the volumes of one namespace as directories of one file system. Sandboxes write into them at the same time, so
// nothing that is found there can be trusted: every path is resolved below the directory of its volume.
package store

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"sync"
)

const (
	// uploads has files that are not complete. No sandbox mounts it: a mount has the name of a volume.
	uploads = ".uploads"
	// removed has volumes that are being deleted, and an empty directory for each that was: a request that comes too late makes none anew.
	removed = ".removed"
	private = 0o700
	// open is the mode of a volume: processes of any user of a sandbox may use it.
	open = 0o777
)

var isID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString

// Store is the directory with the volumes.
type Store struct {
	root    *os.Root
	uploads *os.Root
	// changes keeps a volume from being deleted while it is made.
	changes sync.Mutex
}

// Open makes what the store needs in a directory, and removes the uploads of a process before.
func Open(path string) (*Store, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{uploads, removed} {
		if name == uploads {
			err = root.RemoveAll(name)
		}
		if err == nil {
			err = root.MkdirAll(name, private)
		}
		if err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	kept, err := root.OpenRoot(uploads)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Store{root: root, uploads: kept}, nil
}

// Close lets go of the directory.
func (s *Store) Close() error { return errors.Join(s.uploads.Close(), s.root.Close()) }

// Make makes the directory of a volume, so that a sandbox finds one that all its users may use: the kubelet would make it for root alone.
func (s *Store) Make(id string) error {
	if !isID(id) {
		return noVolume(id)
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	if _, err := s.root.Lstat(removed + "/" + id); err == nil {
		return noVolume(id)
	}
	err := s.root.Mkdir(id, open)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return explain(err, "/")
	}
	info, err := s.root.Lstat(id)
	if err != nil {
		return explain(err, "/")
	}
	if !info.IsDir() {
		return refuse(http.StatusConflict, "volume '%s' is not a directory", id)
	}
	if info.Mode().Perm() == open {
		return nil
	}
	return explain(s.root.Chmod(id, open), "/")
}

// Remove deletes a volume with all that is in it. It leaves the place of the volume first, so that nothing finds half of it.
func (s *Store) Remove(id string) error {
	if !isID(id) {
		return noVolume(id)
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	gone := removed + "/" + id
	// What a process before did not finish stands in the way.
	if err := s.root.RemoveAll(gone); err != nil {
		return explain(err, "/")
	}
	if err := s.root.Rename(id, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain(err, "/")
	}
	if err := s.root.RemoveAll(gone); err != nil {
		return explain(err, "/")
	}
	return explain(s.root.Mkdir(gone, private), "/")
}

// volume opens a volume, which Make has made. The caller closes it.
func (s *Store) volume(id string) (*os.Root, error) {
	if !isID(id) {
		return nil, noVolume(id)
	}
	info, err := s.root.Lstat(id)
	if err != nil || !info.IsDir() {
		return nil, noVolume(id)
	}
	return s.root.OpenRoot(id)
}

func noVolume(id string) error { return refuse(http.StatusNotFound, "volume '%s' not found", id) }
