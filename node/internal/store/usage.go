package store

import (
	"os"
	"path/filepath"
	"syscall"

	"sandlot.dev/node/internal/names"
)

// Usage is what the finished snapshots of a namespace take of the disk. What copies share counts once.
func (s *Store) Usage(namespace string) (int64, error) {
	if err := names.CheckNamespace("namespace", namespace); err != nil {
		return 0, err
	}
	manifests, _ := s.listNamespace(namespace)
	return s.sumOnce(manifests), nil
}

// Space says how full the disk is.
type Space struct {
	// FreeBytes is what the disk has left. UsedBytes is the size of all finished snapshots; what copies share counts once.
	FreeBytes, UsedBytes int64
}

// KeepFreeBytes is what a save must leave of the disk.
func (s *Store) KeepFreeBytes() int64 { return s.keepFree }

// MeasureSpace says how full the disk is.
func (s *Store) MeasureSpace() (Space, error) {
	free, err := s.free()
	if err != nil {
		return Space{}, err
	}
	manifests, _ := s.List()
	return Space{FreeBytes: free, UsedBytes: s.sumOnce(manifests)}, nil
}

// inode tells links of one file from files of the same size.
type inode struct {
	device, number uint64
}

// sumOnce adds the sizes of the files. A file that goes meanwhile counts as its manifest says.
func (s *Store) sumOnce(manifests []Manifest) int64 {
	counted := map[inode]bool{}
	var bytes int64
	for _, m := range manifests {
		for _, file := range m.Files {
			info, err := s.root.Lstat(filepath.Join(m.Namespace, m.UID, file.Name))
			if id, isKnown := identify(info); err == nil && isKnown {
				if counted[id] {
					continue
				}
				counted[id] = true
			}
			bytes += file.Bytes
		}
	}
	return bytes
}

func identify(info os.FileInfo) (inode, bool) {
	if info == nil {
		return inode{}, false
	}
	found, isKnown := info.Sys().(*syscall.Stat_t)
	if !isKnown {
		return inode{}, false
	}
	return inode{uint64(found.Dev), found.Ino}, true
}
