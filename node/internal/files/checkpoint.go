// Package files makes ordinary tar archives of what gVisor writes about the root file systems of a sandbox
// (`runsc fscheckpoint`). gVisor's own tar of a root file system reads each file whole into the memory of the sandbox, also the
// holes of a sparse one, which can end it. A tar, unlike a checkpoint, can be read by every version of gVisor.
//
// All that is read here was written by a sandbox, so nothing of it is trusted: no size, no offset, and no name.
package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// The files that gVisor writes.
const (
	manifestFile = "fscheckpoint.pb"
	treesFile    = "multitar.img"
	metadataFile = "pages_meta.img"
	pagesFile    = "pages.img"
)

const (
	// knownVersion is that of gVisor's format, and of the metadata in it.
	knownVersion = 1
	// rootPath is where a root file system is mounted.
	rootPath = "/"
	// mostManifest and mostMetadata bound what is read into memory. 16 MiB describe a million separate pieces of files.
	mostManifest = 1 << 20
	mostMetadata = 16 << 20
)

// ErrUnknownFormat means that this gVisor writes something else than the one whose format is known here.
var ErrUnknownFormat = errors.New("this version of gVisor writes root file systems in another format")

// Checkpoint is a folder that `runsc fscheckpoint` filled.
type Checkpoint struct {
	folder *os.Root
	// trees has the directories, pages what is in the files.
	trees, pages *os.File
	// roots are the root file systems by the names of their containers.
	roots map[string]root
}

// root says where the parts of one root file system are.
type root struct {
	treeStart, treeEnd int64
	metadataStart      int64
	metadataEnd        int64
	pagesStart         int64
}

// Open opens the folder. It returns ErrUnknownFormat if it has something else than what is known here.
func Open(path string) (*Checkpoint, error) {
	folder, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{folder: folder}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Checkpoint) open() error {
	text, err := c.read(manifestFile, mostManifest)
	if err != nil {
		return err
	}
	if c.roots, err = decodeManifest(text); err != nil {
		return err
	}
	if c.trees, err = c.folder.Open(treesFile); err != nil {
		return err
	}
	c.pages, err = c.folder.Open(pagesFile)
	return err
}

// Close ends the use of the folder.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, file := range []*os.File{c.trees, c.pages} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(append(errs, c.folder.Close())...)
}

// Containers are the names of the containers whose files are here, in order. That of the pause container is empty.
func (c *Checkpoint) Containers() []string {
	names := make([]string, 0, len(c.roots))
	for name := range c.roots {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *Checkpoint) read(name string, most int64) ([]byte, error) {
	file, err := c.folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s of the root file systems has more than %d bytes", filepath.Base(name), most)
	}
	return text, err
}

// readExtents returns where the pages of one root file system are.
func (c *Checkpoint) readExtents(r root) (extents, error) {
	size := r.metadataEnd - r.metadataStart
	if size < 0 || size > mostMetadata {
		return nil, fmt.Errorf("the pieces of the files are described in %d bytes, more than the %d that are read", size, mostMetadata)
	}
	file, err := c.folder.Open(metadataFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text := make([]byte, size)
	if _, err := file.ReadAt(text, r.metadataStart); err != nil {
		return nil, fmt.Errorf("read the description of the files: %w", err)
	}
	return decodeMetadata(text, r.pagesStart)
}
