package files

import (
	"archive/tar"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	// sizeBytes and pieceBytes are how gVisor writes the size of a file and one piece of it.
	sizeBytes  = 8
	pieceBytes = 24
	copyBytes  = 1 << 20
	// mostFile is the largest file that gVisor reads from a tar.
	mostFile = 1<<31 - 1<<12
	// xattrPrefix begins the records of extended attributes. gVisor reads no others.
	xattrPrefix = "SCHILY.xattr."
)

// TooLargeError means that a tar would have more bytes than it may.
type TooLargeError struct {
	Container string
	MostBytes int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the changed files of container %s have more than %d bytes, or one of them more than %d, holes of sparse files included: keep large files on a volume",
		e.Container, e.MostBytes, mostFile)
}

// WriteTar writes the changes of the container's root file system as a tar of at most mostBytes. It returns a TooLargeError
// before it writes a file that is too large.
func (c *Checkpoint) WriteTar(ctx context.Context, container string, out io.Writer, mostBytes int64) error {
	r, isThere := c.roots[container]
	if !isThere {
		return fmt.Errorf("gVisor has not written the files of container %s: its root file system has no layer of changes", container)
	}
	memory, err := c.readExtents(r)
	if err != nil {
		return err
	}
	bounded := &boundedWriter{out: out, left: mostBytes, err: &TooLargeError{container, mostBytes}}
	a := archive{pages: c.pages, memory: memory, bounded: bounded, to: tar.NewWriter(bounded), buffer: make([]byte, copyBytes)}
	from := tar.NewReader(io.NewSectionReader(c.trees, r.treeStart, r.treeEnd-r.treeStart))
	for ctx.Err() == nil {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return a.to.Close()
		}
		if err == nil {
			err = a.add(ctx, header, from)
		}
		if err != nil {
			return fmt.Errorf("write the files of container %s: %w", container, err)
		}
	}
	return context.Cause(ctx)
}

// archive is a tar in the making.
type archive struct {
	pages   io.ReaderAt
	memory  extents
	bounded *boundedWriter
	to      *tar.Writer
	buffer  []byte
}

// add writes one entry. That of a file has in place of its content the size and the places of its pieces.
func (a *archive) add(ctx context.Context, header *tar.Header, from io.Reader) error {
	header.Format = tar.FormatUnknown
	for name := range header.PAXRecords {
		if !strings.HasPrefix(name, xattrPrefix) {
			delete(header.PAXRecords, name)
		}
	}
	if header.Typeflag != tar.TypeReg {
		return a.to.WriteHeader(header)
	}
	pieces := (header.Size - sizeBytes) / pieceBytes
	size, err := readNumber(from)
	if err != nil {
		return err
	}
	if size > mostFile || int64(size) > a.bounded.left {
		return a.bounded.err
	}
	header.Size = int64(size)
	if err := a.to.WriteHeader(header); err != nil {
		return err
	}
	return a.addContent(ctx, content{from, pieces, size})
}

// content says what a file has.
type content struct {
	from   io.Reader
	pieces int64
	size   uint64
}

func (a *archive) addContent(ctx context.Context, c content) error {
	written := uint64(0)
	for range c.pieces {
		start, err1 := readNumber(c.from)
		end, err2 := readNumber(c.from)
		offset, err3 := readNumber(c.from)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if start < written || end < start || offset > math.MaxInt64 {
			return fmt.Errorf("%w: a piece from %d to %d after %d", ErrUnknownFormat, start, end, written)
		}
		// gVisor keeps whole pages, so the last piece may end after the file.
		start, end = min(start, c.size), min(end, c.size)
		if err := a.addZeros(ctx, start-written); err != nil {
			return err
		}
		if err := a.addPiece(ctx, offset, end-start); err != nil {
			return err
		}
		written = end
	}
	return a.addZeros(ctx, c.size-written)
}

// addPiece writes what gVisor's memory has at this offset.
func (a *archive) addPiece(ctx context.Context, offset, length uint64) error {
	for length > 0 {
		at, isZero, most := a.memory.find(offset, min(length, copyBytes))
		if isZero {
			if err := a.addZeros(ctx, most); err != nil {
				return err
			}
		} else {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if _, err := a.pages.ReadAt(a.buffer[:most], at); err != nil {
				return fmt.Errorf("read a page: %w", err)
			}
			if _, err := a.to.Write(a.buffer[:most]); err != nil {
				return err
			}
		}
		offset, length = offset+most, length-most
	}
	return nil
}

func (a *archive) addZeros(ctx context.Context, length uint64) error {
	for clear(a.buffer[:min(length, copyBytes)]); length > 0 && ctx.Err() == nil; {
		n := min(length, copyBytes)
		if _, err := a.to.Write(a.buffer[:n]); err != nil {
			return err
		}
		length -= n
	}
	return context.Cause(ctx)
}

func readNumber(from io.Reader) (uint64, error) {
	var bytes [8]byte
	if _, err := io.ReadFull(from, bytes[:]); err != nil {
		return 0, fmt.Errorf("%w: a file without its pieces: %w", ErrUnknownFormat, err)
	}
	return binary.LittleEndian.Uint64(bytes[:]), nil
}

// boundedWriter fails once it would have written too much.
type boundedWriter struct {
	out  io.Writer
	left int64
	err  error
}

func (w *boundedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		return 0, w.err
	}
	n, err := w.out.Write(p)
	w.left -= int64(n)
	return n, err
}
