package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// sharedMode is the mode of snapshots whose Pod went on. The memory of any other one belongs to its Sandbox alone.
const sharedMode = "Snapshot"

// Copy makes the snapshot key of the snapshot fromUID of the same namespace and returns its manifest. Both share their files,
// which nothing changes any more; the manifest is its own. A repeated call returns the copy, also after the deletion of its
// source. It returns ErrAbsent, a DamagedError, a NotSharedError or a TakenError.
func (s *Store) Copy(key Key, fromUID string) (Manifest, error) {
	from := Key{Namespace: key.Namespace, UID: fromUID}
	if err := errors.Join(key.Check(), from.Check()); err != nil {
		return Manifest{}, err
	}
	defer s.names.lock(key)()
	switch m, err := s.Get(key); {
	case err == nil && m.CopyOf != fromUID:
		return Manifest{}, &TakenError{key, fromUID}
	case !errors.Is(err, ErrAbsent):
		return m, err
	}
	m, err := s.link(key, from)
	if errors.Is(err, syscall.EMLINK) {
		err = fmt.Errorf("the file system has too many copies of snapshot %s/%s: delete some: %w", from.Namespace, from.UID, err)
	}
	return m, err
}

func (s *Store) link(key, from Key) (Manifest, error) {
	// The folder stays that of this snapshot, whatever gets its name meanwhile.
	source, err := s.openFolder(from)
	if err != nil {
		return Manifest{}, err
	}
	defer source.Close()
	m, err := readManifest(from, source)
	if err != nil {
		return Manifest{}, err
	}
	if err := checkShared(m); err != nil {
		return Manifest{}, err
	}
	draft, err := s.makeDraft(key, 0)
	if err != nil {
		return Manifest{}, err
	}
	m.CopyOf = from.UID
	m, err = draft.fillFrom(source, m)
	if err != nil {
		return Manifest{}, errors.Join(err, draft.Abandon())
	}
	return m, nil
}

// checkShared refuses hibernations, whose Sandbox would go on twice, and copies, each of which belongs to one start.
func checkShared(m Manifest) error {
	switch {
	case m.Mode != sharedMode:
		return &NotSharedError{m.Key, fmt.Sprintf("it was saved with mode %s and belongs to its Sandbox alone", m.Mode)}
	case m.CopyOf != "":
		return &NotSharedError{m.Key, fmt.Sprintf("it is a copy itself, of %s", m.CopyOf)}
	}
	return nil
}

// fillFrom links the files of the manifest and makes the draft a snapshot.
func (d *Draft) fillFrom(source *os.Root, m Manifest) (Manifest, error) {
	folder, err := d.store.root.OpenRoot(d.name)
	if err != nil {
		return Manifest{}, err
	}
	defer folder.Close()
	for _, file := range m.Files {
		if err := d.linkFile(source, folder, linked{m.Key, file}); err != nil {
			return Manifest{}, err
		}
	}
	return d.seal(folder, m)
}

// linked is a file of the snapshot that is copied.
type linked struct {
	from Key
	File
}

// linkFile links one file. The link is made by name, so it is compared with the open file: the name may have become that of
// another snapshot, or gone with its deletion.
func (d *Draft) linkFile(source, folder *os.Root, file linked) error {
	if err := checkSize(file.from, source, file.File); err != nil {
		return d.explainLoss(source, file.from, err)
	}
	open, err := source.Open(file.Name)
	if err != nil {
		return d.explainLoss(source, file.from, err)
	}
	defer open.Close()
	wanted, err := open.Stat()
	if err != nil {
		return err
	}
	name := filepath.Join(file.from.Namespace, file.from.UID, file.Name)
	if err := d.store.root.Link(name, filepath.Join(d.name, file.Name)); err != nil {
		return d.explainLoss(source, file.from, err)
	}
	got, err := folder.Lstat(file.Name)
	if err != nil {
		return err
	}
	if !os.SameFile(wanted, got) || got.Size() != file.Bytes {
		return fmt.Errorf("%s/%s was replaced while it was copied: %w", file.from.Namespace, file.from.UID, ErrAbsent)
	}
	return nil
}

// explainLoss tells a snapshot that was deleted meanwhile from one that is damaged.
func (d *Draft) explainLoss(source *os.Root, from Key, err error) error {
	opened, openErr := source.Stat(".")
	named, nameErr := d.store.root.Lstat(filepath.Join(from.Namespace, from.UID))
	if openErr == nil && nameErr == nil && os.SameFile(opened, named) {
		return err
	}
	return fmt.Errorf("%s/%s was deleted while it was copied: %w", from.Namespace, from.UID, ErrAbsent)
}
