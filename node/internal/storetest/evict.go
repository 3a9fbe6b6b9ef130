// Package storetest helps tests of those that use a store.
package storetest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Evict takes the memory of the snapshot in this folder out of the page cache.
func Evict(t testing.TB, folder string) {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "pages.img"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Fdatasync(int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}
