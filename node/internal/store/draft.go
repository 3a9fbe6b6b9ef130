package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Draft is the folder of a save that has not ended. One of Finish and Abandon must be called.
type Draft struct {
	store *Store
	key   Key
	// name is relative to the root of the store. It differs from draft to draft, so that a process of a dead agent that
	// still writes disturbs no later save.
	name     string
	promised int64
}

// scratchName is no name of a file of a snapshot.
const scratchName = ".scratch"

// Begin makes a folder for a save. WantedBytes is how much the save will write at most. It returns a NoSpaceError if the
// disk has too little for this save and those that run.
func (s *Store) Begin(key Key, wantedBytes int64) (*Draft, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if err := s.promise(wantedBytes); err != nil {
		return nil, err
	}
	return s.makeDraft(key, wantedBytes)
}

func (s *Store) makeDraft(key Key, promised int64) (*Draft, error) {
	d := &Draft{store: s, key: key, name: filepath.Join(key.Namespace, remainsPrefix+key.UID+"-"+rand.Text()), promised: promised}
	if err := errors.Join(s.root.MkdirAll(d.name, privateFolder), s.sync(".")); err != nil {
		return nil, errors.Join(err, d.Abandon())
	}
	return d, nil
}

// Path is the folder into which runsc writes.
func (d *Draft) Path() string {
	return filepath.Join(d.store.path, d.name)
}

// Size is what the files of the draft have now, in bytes.
func (d *Draft) Size() (int64, error) {
	entries, err := d.store.readDir(d.name)
	if err != nil {
		return 0, err
	}
	var bytes int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bytes, nil
}

// Extend does what Begin does for bytes beside those that the save wanted first.
func (d *Draft) Extend(wantedBytes int64) error {
	if err := d.store.promise(wantedBytes); err != nil {
		return err
	}
	d.promised += wantedBytes
	return nil
}

// Scratch is a folder for what does not become part of the snapshot. RemoveScratch must be called before Finish.
func (d *Draft) Scratch() string { return filepath.Join(d.Path(), scratchName) }

// RemoveScratch removes that folder.
func (d *Draft) RemoveScratch() error {
	return d.store.root.RemoveAll(filepath.Join(d.name, scratchName))
}

// Remove removes a file of the draft.
func (d *Draft) Remove(name string) error { return d.store.root.RemoveAll(filepath.Join(d.name, name)) }

// Create makes an empty file of the draft.
func (d *Draft) Create(name string) (*os.File, error) {
	if !isPartName(name) {
		return nil, &DamagedError{d.key, fmt.Sprintf("its manifest names the file %q", name)}
	}
	return d.store.root.OpenFile(filepath.Join(d.name, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
}

// Finish makes the draft a snapshot: it writes every file through to the disk, adds names, sizes and checksums to the
// manifest, writes it, and gives the folder its name. It returns the complete manifest. After an error, or a death in
// between, there is no snapshot; Abandon removes the files.
func (d *Draft) Finish(ctx context.Context, m Manifest) (Manifest, error) {
	return d.FinishIf(ctx, m, func() error { return nil })
}

// FinishIf does what Finish does. It asks check once the files are on the disk, and makes no snapshot if check returns an error.
func (d *Draft) FinishIf(ctx context.Context, m Manifest, check func() error) (Manifest, error) {
	folder, err := d.store.root.OpenRoot(d.name)
	if err != nil {
		return Manifest{}, err
	}
	defer folder.Close()
	if m.Files, err = secureFiles(ctx, folder); err != nil {
		return Manifest{}, err
	}
	if err := check(); err != nil {
		return Manifest{}, err
	}
	return d.seal(folder, m)
}

// FinishAs does what Finish does for a draft that must become what the manifest says. It returns a DamagedError if the files
// are others.
func (d *Draft) FinishAs(ctx context.Context, m Manifest) (Manifest, error) {
	folder, err := d.store.root.OpenRoot(d.name)
	if err != nil {
		return Manifest{}, err
	}
	defer folder.Close()
	found, err := secureFiles(ctx, folder)
	if err != nil {
		return Manifest{}, err
	}
	if m.Key != d.key || !slices.Equal(found, m.Files) {
		return Manifest{}, &DamagedError{d.key, "its files are not those of its manifest"}
	}
	return d.seal(folder, m)
}

// seal makes the draft the snapshot of the manifest, whose files are on the disk.
func (d *Draft) seal(folder *os.Root, m Manifest) (Manifest, error) {
	m.Version, m.Key, m.Bytes = manifestVersion, d.key, 0
	for _, file := range m.Files {
		m.Bytes += file.Bytes
	}
	if err := writeManifest(folder, m); err != nil {
		return Manifest{}, err
	}
	if err := d.publish(); err != nil {
		return Manifest{}, err
	}
	d.store.release(d.promised)
	return m, nil
}

// Abandon removes the files of a save that failed.
func (d *Draft) Abandon() error {
	d.store.release(d.promised)
	return d.store.root.RemoveAll(d.name)
}

func (d *Draft) publish() error {
	final := filepath.Join(d.key.Namespace, d.key.UID)
	if err := d.store.root.Rename(d.name, final); err != nil {
		return err
	}
	if err := d.store.sync(d.key.Namespace); err != nil {
		return errors.Join(err, d.store.root.Rename(final, d.name))
	}
	return nil
}

// secureFiles writes the files of a folder through to the disk and describes them.
func secureFiles(ctx context.Context, folder *os.Root) ([]File, error) {
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(entries))
	for _, entry := range entries {
		if !isPartName(entry.Name()) || !entry.Type().IsRegular() {
			return nil, fmt.Errorf("the save left %q, which is not a plain file of a snapshot", entry.Name())
		}
		file, err := secureFile(ctx, folder, entry.Name())
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errors.New("the save left no file")
	}
	return files, nil
}

// secureFile sums up the file while the disk writes it: the one needs the processors, the other the disk.
func secureFile(ctx context.Context, folder *os.Root, name string) (File, error) {
	synced := make(chan error, 1)
	go func() { synced <- syncFile(folder, name) }()
	file, err := describe(ctx, folder, name)
	return file, errors.Join(err, <-synced)
}

func syncFile(folder *os.Root, name string) error {
	file, err := folder.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func describe(ctx context.Context, folder *os.Root, name string) (File, error) {
	file, err := folder.Open(name)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	sum, err := checksum(ctx, file, info.Size())
	return File{Name: name, Bytes: info.Size(), Checksum: sum}, err
}

func writeManifest(folder *os.Root, m Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	const unfinished = "." + manifestName
	file, err := folder.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := folder.Rename(unfinished, manifestName); err != nil {
		return err
	}
	self, err := folder.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(self.Sync(), self.Close())
}

// promise counts bytes against the free space, so that saves that begin together do not fill the disk together.
func (s *Store) promise(bytes int64) error {
	free, err := s.free()
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if wanted := s.promised + bytes + s.keepFree; free < wanted {
		return &NoSpaceError{FreeBytes: free, WantedBytes: wanted}
	}
	s.promised += bytes
	return nil
}

func (s *Store) free() (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.path, &disk); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", s.path, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}

func (s *Store) release(bytes int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.promised -= bytes
}
