package store

import (
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// openPlain opens for reading, and does not wait for the other end of a pipe that a sandbox has made.
func openPlain(volume *os.Root, inside string) (*os.File, error) {
	return volume.OpenFile(inside, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// Read opens a file. The caller closes it.
func (s *Store) Read(id, given string) (*os.File, int64, error) {
	shown, inside, err := clean(given)
	if err != nil {
		return nil, 0, err
	}
	volume, err := s.volume(id)
	if err != nil {
		return nil, 0, err
	}
	defer volume.Close()
	// A device or a socket is not even opened.
	info, err := volume.Stat(inside)
	if err == nil && !info.Mode().IsRegular() {
		return nil, 0, notFile(shown)
	}
	if err != nil {
		return nil, 0, explain(err, shown)
	}
	file, err := openPlain(volume, inside)
	if err != nil {
		return nil, 0, explain(err, shown)
	}
	// A sandbox may have put something else there meanwhile.
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notFile(shown)
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, explain(err, shown)
	}
	return file, info.Size(), nil
}

func notFile(shown string) error {
	return refuse(http.StatusBadRequest, "path '%s' is not a file", shown)
}

// Write stores a file and describes it. It writes beside the volume and moves the file there when it is complete, so that no reader
// sees half of it and nothing of an upload that ends early stays.
func (s *Store) Write(id, given string, wanted Wanted, content io.Reader) (Stat, error) {
	shown, inside, volume, err := s.begin(id, given, wanted)
	if err != nil {
		return Stat{}, err
	}
	defer volume.Close()
	if err := refuseOccupied(volume, inside, shown, wanted.Force); err != nil {
		return Stat{}, err
	}
	if err := makeParents(volume, inside, shown, wanted.Force); err != nil {
		return Stat{}, err
	}
	name := rand.Text()
	defer s.uploads.Remove(name)
	if err := s.receive(name, wanted.mode(defaultFile), content); err != nil {
		return Stat{}, explain(err, shown)
	}
	if err := s.place(volume, name, inside, wanted.Force); err != nil {
		return Stat{}, explain(err, shown)
	}
	return describe(volume, inside, shown)
}

// refuseOccupied answers before the content arrives what place would find only afterwards.
func refuseOccupied(volume *os.Root, inside, shown string, isForced bool) error {
	info, err := volume.Lstat(inside)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return refuse(http.StatusBadRequest, "path '%s' is a directory", shown)
	case !isForced:
		return refuse(http.StatusConflict, "path '%s' already exists", shown)
	}
	return nil
}

func (s *Store) receive(name string, mode os.FileMode, content io.Reader) error {
	file, err := s.uploads.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = io.Copy(file, content); err == nil {
		// An answer says that the file is kept, so it is, also when the node loses power.
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// place moves an upload to its place. The directory is opened first: a link that a sandbox puts into the path meanwhile changes nothing.
func (s *Store) place(volume *os.Root, name, inside string, isForced bool) error {
	parent, err := openPlain(volume, path.Dir(inside))
	if err != nil {
		return err
	}
	defer parent.Close()
	from, err := s.uploads.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	source, target, base := int(from.Fd()), int(parent.Fd()), path.Base(inside)
	if isForced {
		return unix.Renameat(source, name, target, base)
	}
	// A link is made only where nothing is, which a rename cannot say on every storage.
	return unix.Linkat(source, name, target, base, 0)
}
