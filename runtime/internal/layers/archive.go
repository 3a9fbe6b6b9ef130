package layers

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrTooLarge says that the changes have more bytes than the caller allows.
var ErrTooLarge = errors.New("the changes are larger than allowed")

// archive is the tar of a layer.
type archive struct {
	tree *tree
	tar  *tar.Writer
	out  *counter
	// names has the first name of each file that has several, until the archive has all of them.
	names map[identity]*named
	// unsettled counts files that changed or disappeared while they were read. The next layer has them again.
	unsettled int
}

type identity struct{ dev, ino uint64 }

type named struct {
	path string
	// left is how many names of the file may still come.
	left uint64
}

func newArchive(t *tree, out *counter) *archive {
	return &archive{tree: t, tar: tar.NewWriter(out), out: out, names: map[identity]*named{}}
}

// counter counts bytes, and takes none above the limit. No limit is 0.
type counter struct {
	out          io.Writer
	bytes, limit int64
}

func (c *counter) Write(data []byte) (int, error) {
	if c.limit > 0 && c.bytes+int64(len(data)) > c.limit {
		return 0, fmt.Errorf("%w: %d bytes", ErrTooLarge, c.limit)
	}
	written, err := c.out.Write(data)
	c.bytes += int64(written)
	return written, err
}

// remove says that the file is gone.
func (a *archive) remove(path string) error {
	directory, name := "", path
	if slash := strings.LastIndexByte(path, '/'); slash >= 0 {
		directory, name = path[:slash+1], path[slash+1:]
	}
	return a.tar.WriteHeader(&tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: directory + whiteout + name})
}

// add writes a file and returns what it wrote. It is false if the file disappeared.
func (a *archive) add(e Entry) (Entry, bool, error) {
	if e.isFile() {
		return a.addFile(e)
	}
	header, err := a.header(e)
	if err != nil {
		return e, false, err
	}
	switch e.kind() {
	case unix.S_IFDIR:
		header.Typeflag, header.Name = tar.TypeDir, e.Path+"/"
	case unix.S_IFLNK:
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.Target
	case unix.S_IFIFO:
		header.Typeflag = tar.TypeFifo
	case unix.S_IFCHR, unix.S_IFBLK:
		header.Typeflag = map[uint32]byte{unix.S_IFCHR: tar.TypeChar, unix.S_IFBLK: tar.TypeBlock}[e.kind()]
		header.Devmajor, header.Devminor = int64(unix.Major(e.Rdev)), int64(unix.Minor(e.Rdev))
	}
	return e, true, a.tar.WriteHeader(header)
}

func (a *archive) header(e Entry) (*tar.Header, error) {
	attributes, err := readAttributes(a.tree.place(e.Path))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", e.Path, err)
	}
	return &tar.Header{
		Format: tar.FormatPAX, Name: e.Path, Mode: int64(e.Mode & 0o7777), Uid: int(e.UID), Gid: int(e.GID),
		ModTime: time.Unix(e.Mtime.Unix()), PAXRecords: attributes,
	}, nil
}

func (a *archive) addFile(e Entry) (Entry, bool, error) {
	file, now, err := open(a.tree.place(e.Path), e)
	if err != nil {
		return e, false, fmt.Errorf("%q: %w", e.Path, err)
	}
	if file == nil {
		a.unsettled++
		return e, false, nil
	}
	defer func() { _ = file.Close() }()
	header, err := a.header(now)
	if err != nil {
		return now, false, err
	}
	if first := a.firstName(now); first != "" {
		header.Typeflag, header.Linkname = tar.TypeLink, first
		return now, true, a.tar.WriteHeader(header)
	}
	header.Typeflag, header.Size = tar.TypeReg, now.Size
	if err := a.tar.WriteHeader(header); err != nil {
		return now, false, err
	}
	return now, true, a.copy(file, now)
}

// open returns nothing if the path has another file than the entry's by now.
func open(place string, e Entry) (*os.File, Entry, error) {
	// Without O_NONBLOCK a pipe that took the place of the file would wait for a writer.
	descriptor, err := unix.Open(place, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, e, unlessGone(err)
	}
	file := os.NewFile(uintptr(descriptor), place)
	var stat unix.Stat_t
	if err := unix.Fstat(descriptor, &stat); err != nil {
		_ = file.Close()
		return nil, e, err
	}
	now := entryOf(e.Path, &stat)
	if !now.isFile() || now.Ino != e.Ino {
		_ = file.Close()
		return nil, e, nil
	}
	return file, now, nil
}

// firstName returns the name by which the archive has the file already, if it has.
func (a *archive) firstName(e Entry) string {
	if e.Links < 2 {
		return ""
	}
	key := identity{e.Dev, e.Ino}
	known := a.names[key]
	if known == nil {
		a.names[key] = &named{path: e.Path, left: e.Links - 1}
		return ""
	}
	if known.left--; known.left == 0 {
		delete(a.names, key)
	}
	return known.path
}

// copy writes as many bytes as the header says, also if the file has more or fewer by now.
func (a *archive) copy(file *os.File, e Entry) error {
	read, err := io.Copy(a.tar, io.LimitReader(file, e.Size))
	if err != nil {
		return fmt.Errorf("%q: %w", e.Path, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return err
	}
	if read < e.Size || stat.Ctim != e.Ctime {
		a.unsettled++
	}
	_, err = io.CopyN(a.tar, zeros{}, e.Size-read)
	return err
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(data []byte) (int, error) {
	clear(data)
	return len(data), nil
}
