package store

import (
	"os"
	"syscall"
)

// CanReadDirectly reports whether the file system of the store lets files be read past the page cache.
func (s *Store) CanReadDirectly() bool {
	file, err := s.root.OpenFile(lockName, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		return false
	}
	return file.Close() == nil
}
