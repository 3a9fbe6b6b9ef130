package trust

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

var errInTheWay = errors.New("another user's file is in the way")

// openOwnFolder opens a folder that other users may read and not write. All users may write beside it, so what another user
// has put in its place is removed. Nothing is written by the name of the folder, which could be a link by then.
func openOwnFolder(path string) (*os.Root, error) {
	folder, err := openIfOwn(path)
	if !errors.Is(err, errInTheWay) && !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	if folder, err = openIfOwn(path); err != nil {
		return nil, err
	}
	// The umask may have taken the right to read away.
	return folder, folder.Chmod(".", 0o755)
}

func openIfOwn(path string) (*os.Root, error) {
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errInTheWay
	}
	folder, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := folder.Stat(".")
	if err == nil && os.SameFile(seen, opened) && isOwn(opened) {
		return folder, nil
	}
	_ = folder.Close()
	if err == nil {
		err = errInTheWay
	}
	return nil, err
}

// file is what replace writes.
type file struct {
	name, content string
	mode          os.FileMode
}

// replace puts a file into a folder, atomically and in place of whatever has its name. It writes nothing if the file is as it
// should be.
func replace(folder *os.Root, wanted file) error {
	if isThere(folder, wanted) {
		return nil
	}
	partial := ".sandlot-" + rand.Text()
	created, err := folder.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Remove(partial) }()
	_, err = created.WriteString(wanted.content)
	if err == nil {
		err = created.Chmod(wanted.mode)
	}
	if closing := created.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return folder.Rename(partial, wanted.name)
}

func isThere(folder *os.Root, wanted file) bool {
	info, err := folder.Lstat(wanted.name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(wanted.content)) || info.Mode().Perm() != wanted.mode.Perm() || !isOwn(info) {
		return false
	}
	content, err := folder.ReadFile(wanted.name)
	return err == nil && string(content) == wanted.content
}

func hasOwn(folder *os.Root, name string) bool {
	info, err := folder.Lstat(name)
	return err == nil && info.Mode().IsRegular() && isOwn(info)
}

func removeIfThere(folder *os.Root, name string) error {
	if err := folder.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
