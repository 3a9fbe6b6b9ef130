// Package store keeps the snapshots of one node, in ROOT/NAMESPACE/UID. A folder is a snapshot once it has this name and a
// manifest; all others are remains of a save that did not end.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"sandlot.dev/node/internal/names"
)

const (
	// lockName is held by the agent that uses the store.
	lockName = ".lock"
	// remainsPrefix begins the name of every folder that is not a snapshot. No UID begins with a dot.
	remainsPrefix  = ".saving-"
	deletingPrefix = ".deleting-"
	privateFolder  = 0o700
	privateFile    = 0o600
)

// Store is a folder of snapshots. Its methods may run at the same time.
type Store struct {
	path string
	root *os.Root
	lock *os.File
	// keepFree is what a save must leave of the disk, in bytes.
	keepFree int64

	mutex sync.Mutex
	// promised is what the saves that run now may still write.
	promised int64
	// names has a lock for each snapshot that is being copied or deleted.
	names keyLocks
}

// Options say how a Store behaves.
type Options struct {
	// KeepFreeBytes is what a save must leave of the disk.
	KeepFreeBytes int64
}

// Open takes the folder for this process, makes it if it is absent, and removes what dead saves left. It returns ErrOwned
// while another process has it.
func Open(path string, options Options) (*Store, error) {
	if err := os.MkdirAll(path, privateFolder); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	lock, err := root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, privateFile)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s := &Store{path: path, root: root, lock: lock, keepFree: options.KeepFreeBytes}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%s: %w", path, ErrOwned)
		}
		return nil, errors.Join(err, s.Close())
	}
	if err := s.RemoveRemains(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close lets another process open the store.
func (s *Store) Close() error {
	return errors.Join(s.root.Close(), s.lock.Close())
}

// Get returns the manifest of a finished snapshot after it compared the sizes of its files. It returns ErrAbsent or a
// DamagedError.
func (s *Store) Get(key Key) (Manifest, error) {
	folder, err := s.openFolder(key)
	if err != nil {
		return Manifest{}, err
	}
	defer folder.Close()
	m, err := readManifest(key, folder)
	if err != nil {
		return Manifest{}, err
	}
	for _, file := range m.Files {
		if err := checkSize(key, folder, file); err != nil {
			return Manifest{}, err
		}
	}
	return m, nil
}

// Verify does what Get does and compares the checksums as well, which reads every byte.
func (s *Store) Verify(ctx context.Context, key Key) (Manifest, error) {
	return s.verify(ctx, key, func(string) bool { return true })
}

// VerifyKernel does what Get does and compares the checksums of the files from which gVisor builds the kernel of a sandbox:
// gVisor restores from some damaged ones without an error. Pages and tars are too large to be read twice before a start.
func (s *Store) VerifyKernel(ctx context.Context, key Key) (Manifest, error) {
	return s.verify(ctx, key, func(name string) bool { return name != pagesFile && !strings.HasPrefix(name, filesPrefix) })
}

func (s *Store) verify(ctx context.Context, key Key, isWanted func(name string) bool) (Manifest, error) {
	m, err := s.Get(key)
	if err != nil {
		return Manifest{}, err
	}
	folder, err := s.openFolder(key)
	if err != nil {
		return Manifest{}, err
	}
	defer folder.Close()
	for _, file := range m.Files {
		if !isWanted(file.Name) {
			continue
		}
		found, err := describe(ctx, folder, file.Name)
		if err != nil {
			return Manifest{}, err
		}
		if found != file {
			return Manifest{}, &DamagedError{key, fmt.Sprintf("%s has another checksum than when it was saved", file.Name)}
		}
	}
	return m, nil
}

// Path is the folder of a snapshot, for runsc.
func (s *Store) Path(key Key) string {
	return filepath.Join(s.path, key.Namespace, key.UID)
}

// Delete removes a snapshot. It succeeds if there is none, and waits for a copy that is becoming this snapshot. Copies of the
// snapshot stay whole.
func (s *Store) Delete(key Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	defer s.names.lock(key)()
	// A folder without this name is no snapshot, so a death in the middle leaves no half one.
	doomed := filepath.Join(key.Namespace, deletingPrefix+key.UID)
	if err := s.root.RemoveAll(doomed); err != nil {
		return err
	}
	err := s.root.Rename(filepath.Join(key.Namespace, key.UID), doomed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.sync(key.Namespace), s.root.RemoveAll(doomed))
}

// List returns the manifests of all finished snapshots, and a DamagedError for each that cannot be used.
func (s *Store) List() (manifests []Manifest, damaged []error) {
	namespaces, err := s.readDir(".")
	if err != nil {
		return nil, []error{err}
	}
	for _, namespace := range namespaces {
		if names.CheckNamespace("namespace", namespace.Name()) != nil {
			continue
		}
		found, bad := s.listNamespace(namespace.Name())
		manifests, damaged = append(manifests, found...), append(damaged, bad...)
	}
	return manifests, damaged
}

func (s *Store) listNamespace(namespace string) (manifests []Manifest, damaged []error) {
	entries, err := s.readDir(namespace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{err}
	}
	for _, entry := range entries {
		key := Key{Namespace: namespace, UID: entry.Name()}
		if key.Check() != nil {
			continue
		}
		switch m, err := s.Get(key); {
		case err == nil:
			manifests = append(manifests, m)
		case !errors.Is(err, ErrAbsent):
			damaged = append(damaged, err)
		}
	}
	return manifests, damaged
}

// RemoveRemains removes the folders of saves and deletions that did not end. No save may run. Open does it as well, but a
// gVisor that outlived its agent can still make a folder after that.
func (s *Store) RemoveRemains() error {
	namespaces, err := s.readDir(".")
	if err != nil {
		return err
	}
	for _, namespace := range namespaces {
		if names.CheckNamespace("namespace", namespace.Name()) != nil {
			continue
		}
		entries, err := s.readDir(namespace.Name())
		if err != nil {
			return err
		}
		for _, entry := range entries {
			name := entry.Name()
			if !strings.HasPrefix(name, remainsPrefix) && !strings.HasPrefix(name, deletingPrefix) {
				continue
			}
			if err := s.root.RemoveAll(filepath.Join(namespace.Name(), name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) openFolder(key Key) (*os.Root, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	folder, err := s.root.OpenRoot(filepath.Join(key.Namespace, key.UID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s/%s: %w", key.Namespace, key.UID, ErrAbsent)
	}
	return folder, err
}

func readManifest(key Key, folder *os.Root) (Manifest, error) {
	file, err := folder.Open(manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("%s/%s: %w", key.Namespace, key.UID, ErrAbsent)
	}
	if err != nil {
		return Manifest{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostManifest))
	if err != nil {
		return Manifest{}, err
	}
	return DecodeManifest(key, text)
}

func checkSize(key Key, folder *os.Root, file File) error {
	info, err := folder.Lstat(file.Name)
	switch {
	case err != nil:
		return &DamagedError{key, fmt.Sprintf("%s: %v", file.Name, err)}
	case !info.Mode().IsRegular():
		return &DamagedError{key, fmt.Sprintf("%s is not a plain file", file.Name)}
	case info.Size() != file.Bytes:
		return &DamagedError{key, fmt.Sprintf("%s has %d bytes instead of %d", file.Name, info.Size(), file.Bytes)}
	}
	return nil
}

func (s *Store) readDir(name string) ([]fs.DirEntry, error) {
	folder, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.ReadDir(-1)
}

// sync makes the entries of a folder survive a loss of power.
func (s *Store) sync(name string) error {
	folder, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
