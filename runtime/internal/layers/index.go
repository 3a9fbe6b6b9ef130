package layers

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// magic begins every index.
const magic = "sandlot layer index 1\n"

// errIndex says that an index was cut off, or is none. The owner of the sandbox can write to it.
var errIndex = errors.New("the index cannot be read: scan again")

// indexWriter writes entries in the order of compare. A path is written as the part that differs from the path before.
type indexWriter struct {
	out  *bufio.Writer
	last string
}

func newIndexWriter(out io.Writer) *indexWriter {
	made := &indexWriter{out: bufio.NewWriterSize(out, 1<<16)}
	_, _ = made.out.WriteString(magic)
	return made
}

// add keeps an error of the file for finish.
func (w *indexWriter) add(e Entry) {
	shared := sharedLength(w.last, e.Path)
	w.last = e.Path
	numbers := []uint64{
		uint64(e.Mode), uint64(e.UID), uint64(e.GID), uint64(e.Size), uint64(e.Mtime.Sec), uint64(e.Mtime.Nsec),
		uint64(e.Ctime.Sec), uint64(e.Ctime.Nsec), e.Ino, e.Rdev,
	}
	w.number(uint64(shared))
	w.text(e.Path[shared:])
	for _, each := range numbers {
		w.number(each)
	}
	w.text(e.Target)
}

func (w *indexWriter) number(value uint64) {
	var space [binary.MaxVarintLen64]byte
	_, _ = w.out.Write(space[:binary.PutUvarint(space[:], value)])
}

func (w *indexWriter) text(value string) {
	w.number(uint64(len(value)))
	_, _ = w.out.WriteString(value)
}

// finish marks the end, by a path that does not differ from the one before.
func (w *indexWriter) finish() error {
	w.number(uint64(len(w.last)))
	w.text("")
	return w.out.Flush()
}

// indexReader reads the entries in their order.
type indexReader struct {
	in   *bufio.Reader
	next Entry
	// isOver says that there is no next entry.
	isOver bool
}

func newIndexReader(in io.Reader) (*indexReader, error) {
	made := &indexReader{in: bufio.NewReaderSize(in, 1<<16)}
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(made.in, start); err != nil || string(start) != magic {
		return nil, errIndex
	}
	return made, made.advance()
}

// advance reads the next entry.
func (r *indexReader) advance() error {
	path, err := r.path()
	if err != nil {
		return fmt.Errorf("%w (%w)", errIndex, err)
	}
	if path == r.next.Path {
		r.isOver = true
		return nil
	}
	if compare(path, r.next.Path) < 0 {
		return errIndex
	}
	var numbers [10]uint64
	for index := range numbers {
		if numbers[index], err = binary.ReadUvarint(r.in); err != nil {
			return fmt.Errorf("%w (%w)", errIndex, err)
		}
	}
	target, err := r.text()
	if err != nil {
		return fmt.Errorf("%w (%w)", errIndex, err)
	}
	r.next = Entry{
		Path: path, Mode: uint32(numbers[0]), UID: uint32(numbers[1]), GID: uint32(numbers[2]), Size: int64(numbers[3]),
		Mtime: unix.Timespec{Sec: int64(numbers[4]), Nsec: int64(numbers[5])},
		Ctime: unix.Timespec{Sec: int64(numbers[6]), Nsec: int64(numbers[7])},
		Ino:   numbers[8], Rdev: numbers[9], Target: target,
	}
	return nil
}

func (r *indexReader) path() (string, error) {
	shared, err := binary.ReadUvarint(r.in)
	if err != nil {
		return "", err
	}
	if shared > uint64(len(r.next.Path)) {
		return "", errIndex
	}
	rest, err := r.text()
	return r.next.Path[:shared] + rest, err
}

func (r *indexReader) text() (string, error) {
	length, err := binary.ReadUvarint(r.in)
	if err != nil {
		return "", err
	}
	if length > longestPath {
		return "", errIndex
	}
	text := make([]byte, length)
	_, err = io.ReadFull(r.in, text)
	return string(text), err
}
