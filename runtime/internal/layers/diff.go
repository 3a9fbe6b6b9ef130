package layers

import (
	"fmt"
	"io"
)

// Result says what a scan or a diff wrote.
type Result struct {
	// Entries are the files of the index, or of the layer with those that say what is gone.
	Entries int `json:"entries"`
	// Bytes is the size of the index, or of the layer.
	Bytes int64 `json:"bytes"`
	// Removed are the entries that say what is gone.
	Removed int `json:"removed"`
	// Unsettled are files that changed or disappeared while they were read. The next layer has them again.
	Unsettled int `json:"unsettled"`
	// Unfit are files that no layer can have: their names or numbers say in a layer that something is gone.
	Unfit int `json:"unfit"`
}

// scan writes an index of the tree.
func scan(t *tree, index *counter) (Result, error) {
	writer := newIndexWriter(index)
	var result Result
	err := t.walk(func(e Entry) error {
		writer.add(e)
		result.Entries++
		return nil
	})
	if err != nil {
		return result, err
	}
	err = writer.finish()
	result.Bytes, result.Unfit = index.bytes, t.unfit
	return result, err
}

// comparison reads the tree and its old index side by side, so that neither has to fit into memory.
type comparison struct {
	old     *indexReader
	index   *indexWriter
	archive *archive
	// gone is the directory that was last found to be gone. What was below it needs no word of its own.
	gone    string
	entries int
	removed int
}

// diff writes the changes since the old index, and the new index.
func diff(t *tree, old io.Reader, index io.Writer, layer *counter) (Result, error) {
	reader, err := newIndexReader(old)
	if err != nil {
		return Result{}, err
	}
	c := &comparison{old: reader, index: newIndexWriter(index), archive: newArchive(t, layer)}
	if err := t.walk(c.visit); err != nil {
		return Result{}, err
	}
	if err := c.skipTo(func(string) bool { return true }); err != nil {
		return Result{}, err
	}
	if err := c.archive.tar.Close(); err != nil {
		return Result{}, err
	}
	if err := c.index.finish(); err != nil {
		return Result{}, err
	}
	return Result{
		Entries: c.entries, Bytes: layer.bytes, Removed: c.removed, Unsettled: c.archive.unsettled, Unfit: t.unfit,
	}, nil
}

func (c *comparison) visit(e Entry) error {
	if err := c.skipTo(func(path string) bool { return compare(path, e.Path) < 0 }); err != nil {
		return err
	}
	old := c.old.next
	isKnown := !c.old.isOver && old.Path == e.Path
	if isKnown {
		if err := c.old.advance(); err != nil {
			return err
		}
		if old.isDirectory() && !e.isDirectory() {
			c.gone = e.Path
		}
		if !e.differsFrom(old) {
			c.index.add(e)
			return nil
		}
	}
	written, isThere, err := c.archive.add(e)
	switch {
	case err != nil:
		return err
	case isThere:
		c.index.add(written)
		c.entries++
	case isKnown:
		return c.remove(e.Path)
	}
	return nil
}

// skipTo takes what the tree no longer has from the old index, as long as its path is before the next one of the tree.
func (c *comparison) skipTo(isBefore func(path string) bool) error {
	for !c.old.isOver && isBefore(c.old.next.Path) {
		old := c.old.next
		if err := c.old.advance(); err != nil {
			return err
		}
		switch {
		case isBelow(old.Path, c.gone):
		case c.archive.tree.isLeftOut(old.Path):
			// Something was mounted over it. It is there again when that is unmounted.
			c.index.add(old)
		default:
			if err := c.remove(old.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comparison) remove(path string) error {
	c.gone = path
	c.entries++
	c.removed++
	if err := c.archive.remove(path); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}
