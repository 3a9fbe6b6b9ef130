package installer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// partialSuffix ends the names of files that are being written.
const partialSuffix = ".sandlot-partial"

// hashFile returns the SHA-256 of a regular file, and none if it is absent. It follows no link.
func hashFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// place gives path the content, unless it has it: the content is whole on the disk, and read back, before it gets the name. A
// program that runs keeps the file that it was started from.
func place(path string, content io.Reader, sum string, mode fs.FileMode) (changed bool, err error) {
	if present, err := hashFile(path); err != nil || present == sum {
		return false, err
	}
	partial := path + partialSuffix
	if err := os.RemoveAll(partial); err != nil {
		return false, err
	}
	if err := writeThrough(partial, content, mode); err != nil {
		return false, err
	}
	written, err := hashFile(partial)
	if err != nil {
		return false, err
	}
	if written != sum {
		return false, fmt.Errorf("%s was written with SHA-256 %s in place of %s: is the disk sound?", partial, written, sum)
	}
	if err := os.Rename(partial, path); err != nil {
		return false, err
	}
	return true, syncFolder(filepath.Dir(path))
}

// placeText is place for a text.
func placeText(path string, text []byte, mode fs.FileMode) (changed bool, err error) {
	return place(path, bytes.NewReader(text), hashText(text), mode)
}

func hashText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func writeThrough(path string, content io.Reader, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	// The umask may have taken bits away.
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// link makes path a symbolic link to target, in one step.
func link(path, target string) error {
	partial := path + partialSuffix
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Symlink(target, partial); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// remove removes a file for good; an absent one is fine.
func remove(path string) error {
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// makeFolder makes a folder of root that no other user can change: containerd runs what is in it as root.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	if owner, known := info.Sys().(*syscall.Stat_t); known && owner.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be changed by others than root: containerd would run their programs", path)
	}
	return nil
}
