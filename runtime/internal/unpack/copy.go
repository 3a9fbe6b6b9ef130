// Package unpack carries out the COPY of a template build: it puts a part of an uploaded archive where the step wants it.
package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Copy is one COPY.
type Copy struct {
	// Archive is the file with the tar, which may be compressed by gzip.
	Archive string
	// Source is the path in the archive; empty for all of it.
	Source string
	// Destination is absolute. With a slash at its end, a file goes into it under its own name.
	Destination string
	UID, GID    int
	// Mode replaces that of files and new directories; negative: it does not.
	Mode fs.FileMode
	// HasMode says whether Mode counts.
	HasMode bool
}

// Run copies. What it has written before an error stays.
func (c Copy) Run() error {
	kind, err := c.findKind()
	if err != nil {
		return err
	}
	target := path.Clean(c.Destination)
	if kind != tar.TypeDir && strings.HasSuffix(c.Destination, "/") {
		target = path.Join(target, path.Base(c.Source))
	}
	if err := c.makeParents(path.Dir(target)); err != nil {
		return err
	}
	w := &writer{Copy: c, target: target, links: map[string]bool{}}
	return visit(c.Archive, func(name string, header *tar.Header, content io.Reader) error {
		below, isWithin := within(c.Source, name)
		if !isWithin {
			return nil
		}
		return w.write(below, header, content)
	})
}

// findKind says what the source is. A directory need not have an entry of its own.
func (c Copy) findKind() (byte, error) {
	kind := byte(0)
	if c.Source == "" {
		kind = tar.TypeDir
	}
	err := visit(c.Archive, func(name string, header *tar.Header, _ io.Reader) error {
		if name == c.Source && c.Source != "" {
			kind = header.Typeflag
		} else if _, isWithin := within(c.Source, name); isWithin && kind == 0 {
			kind = tar.TypeDir
		}
		return nil
	})
	if err == nil && kind == 0 {
		err = fmt.Errorf("Error: source path does not exist: %s", c.Source)
	}
	return kind, err
}

// makeParents creates missing directories, which belong to the owner of the copy.
func (c Copy) makeParents(folder string) error {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", folder)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.makeParents(path.Dir(folder)); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	return os.Lchown(folder, c.UID, c.GID)
}

// writer puts the entries of one copy into place.
type writer struct {
	Copy
	target string
	// links are the symbolic links of this archive. An entry behind one would leave the target, so it is refused; links that were there
	// before are followed.
	links map[string]bool
}

func (w *writer) write(below string, header *tar.Header, content io.Reader) error {
	if link, isBehind := w.findLink(path.Dir(below)); isBehind && below != "" {
		return fmt.Errorf("the archive has %q behind the link %q", header.Name, path.Join(w.Source, link))
	}
	at := filepath.Join(w.target, below)
	switch header.Typeflag {
	case tar.TypeDir:
		return w.makeDirectory(at, header)
	case tar.TypeReg:
		return w.makeFile(at, header, content)
	case tar.TypeSymlink:
		w.links[below] = true
		return w.makeLink(at, header)
	case tar.TypeLink:
		return w.linkFile(at, header)
	case tar.TypeXGlobalHeader:
		return nil
	}
	return fmt.Errorf("the archive has %q, which is neither a file, a directory nor a link", header.Name)
}

// findLink returns the link of this archive that a path is, or is below. The source itself, whose path is empty, may be one.
func (w *writer) findLink(below string) (string, bool) {
	for ; below != "." && below != "/" && below != ""; below = path.Dir(below) {
		if w.links[below] {
			return below, true
		}
	}
	return "", w.links[""]
}

// makeDirectory leaves one that is there as it is, also behind a link.
func (w *writer) makeDirectory(at string, header *tar.Header) error {
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		return nil
	}
	if err := w.clear(at); err != nil {
		return err
	}
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	return w.finish(at, header.FileInfo().Mode())
}

func (w *writer) makeFile(at string, header *tar.Header, content io.Reader) error {
	if err := w.clear(at); err != nil {
		return err
	}
	file, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := w.finish(at, header.FileInfo().Mode()); err != nil {
		return err
	}
	return os.Chtimes(at, header.ModTime, header.ModTime)
}

// makeLink creates a symbolic link, which has an owner and no mode.
func (w *writer) makeLink(at string, header *tar.Header) error {
	if err := w.clear(at); err != nil {
		return err
	}
	if err := os.Symlink(header.Linkname, at); err != nil {
		return err
	}
	return os.Lchown(at, w.UID, w.GID)
}

// linkFile creates a hard link to an earlier file of the same copy.
func (w *writer) linkFile(at string, header *tar.Header) error {
	name, err := clean(header.Linkname)
	if err != nil {
		return err
	}
	below, isWithin := within(w.Source, name)
	if !isWithin {
		return fmt.Errorf("the archive has a hard link to %q, which is not copied", header.Linkname)
	}
	original := filepath.Join(w.target, below)
	if _, isBehind := w.findLink(below); isBehind {
		return fmt.Errorf("the archive has a hard link to %q behind a link", header.Linkname)
	}
	if err := w.clear(at); err != nil {
		return err
	}
	return os.Link(original, at)
}

// clear makes room, and the parents. A directory stays: nothing of the image is removed by accident.
func (w *writer) clear(at string) error {
	if err := w.makeParents(filepath.Dir(at)); err != nil {
		return err
	}
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory, and the source is a file", at)
	}
	return os.Remove(at)
}

// finish sets owner and mode, in this order: a change of the owner takes the setuid bit away.
func (w *writer) finish(at string, mode fs.FileMode) error {
	if err := os.Lchown(at, w.UID, w.GID); err != nil {
		return err
	}
	if w.HasMode {
		mode = w.Mode
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return os.Chmod(at, mode&bits)
}
