package store

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// pagesFile is gVisor's file with the memory of a snapshot.
const pagesFile = "pages.img"

// CanReadDirectly reports whether the file system of the store lets files be read past the page cache.
func (s *Store) CanReadDirectly() bool {
	file, err := s.root.OpenFile(lockName, os.O_RDONLY|syscall.O_DIRECT, 0)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// HasCached reports whether most of the snapshot's memory is in the page cache: that of a sandbox that slept for a short time
// usually is. False if the kernel cannot say, which is new in Linux 6.5.
func (s *Store) HasCached(key Key) bool {
	file, err := s.root.Open(filepath.Join(key.Namespace, key.UID, pagesFile))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(file.Fd()), &unix.CachestatRange{Len: uint64(info.Size())}, &stat, 0); err != nil {
		return false
	}
	pages := (uint64(info.Size()) + uint64(os.Getpagesize()) - 1) / uint64(os.Getpagesize())
	return 2*stat.Cache > pages
}
