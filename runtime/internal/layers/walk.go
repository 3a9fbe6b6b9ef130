package layers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// readers is how many directories are read at a time. In gVisor each look at a file is a round trip to another thread.
	readers = 4
	// mostAhead is how many directories may have been read before their turn.
	mostAhead = 32
	// chunk is how many files of a directory are looked at before the first of them is visited.
	chunk = 4096
)

// walk calls visit for all that a layer can have, in the order of compare. It reads directories ahead.
func (t *tree) walk(visit func(Entry) error) error {
	w := &walker{tree: t, visit: visit, reading: make(chan struct{}, readers), ahead: make(chan struct{}, mostAhead)}
	return w.into(w.read(unix.AT_FDCWD, t.root, ""))
}

type walker struct {
	tree  *tree
	visit func(Entry) error
	// reading and ahead have an element for each directory that is being read, and that was read ahead and not visited yet.
	reading, ahead chan struct{}
}

// listing is a directory that was read.
type listing struct {
	directory string
	// opened is nil if the directory was removed or replaced meanwhile.
	opened *os.File
	// entries are the next ones to visit, and names those that have not been looked at.
	entries []Entry
	names   []string
	unfit   int
	err     error
}

// read opens a directory by its name in another one, and looks at its first files.
func (w *walker) read(in int, name, directory string) *listing {
	l := &listing{directory: directory}
	l.opened, l.err = openDirectory(in, name)
	if l.opened == nil {
		return l
	}
	l.names, l.err = list(l.opened)
	if l.err == nil {
		l.err = w.look(l)
	}
	return l
}

// look looks at the next files by their names in the directory: gVisor takes longer the more directories a path has.
func (w *walker) look(l *listing) error {
	count := min(chunk, len(l.names))
	l.entries = make([]Entry, 0, count)
	for _, name := range l.names[:count] {
		path := filepath.Join(l.directory, name)
		if w.tree.leftOut[path] {
			continue
		}
		entry, isThere, err := look(int(l.opened.Fd()), name, path)
		if err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
		if isThere && l.fits(name, entry) {
			l.entries = append(l.entries, entry)
		}
	}
	l.names = l.names[count:]
	return nil
}

// fits says whether a layer can have the file. To the file system of a container a device 0:0 is a whiteout, too.
func (l *listing) fits(name string, e Entry) bool {
	if e.kind() == unix.S_IFSOCK {
		return false
	}
	if strings.HasPrefix(name, whiteout) || e.kind() == unix.S_IFCHR && e.Rdev == 0 {
		l.unfit++
		return false
	}
	return true
}

// into visits what the directory has, and closes it.
func (w *walker) into(l *listing) error {
	if l.opened == nil {
		return l.err
	}
	defer func() { _ = l.opened.Close() }()
	if l.err != nil {
		return fmt.Errorf("%q: %w", l.directory, l.err)
	}
	for {
		if err := w.visitAll(l); err != nil {
			return err
		}
		if len(l.names) == 0 {
			w.tree.unfit += l.unfit
			return nil
		}
		if err := w.look(l); err != nil {
			return err
		}
	}
}

// visitAll visits the entries that were looked at. None of what it reads ahead outlives it, because that needs the open directory.
func (w *walker) visitAll(l *listing) error {
	ahead := &lookahead{walker: w, in: l, reads: make([]chan *listing, len(l.entries))}
	defer ahead.close()
	for index, entry := range l.entries {
		ahead.fill(index)
		if err := w.visit(entry); err != nil {
			return err
		}
		if !entry.isDirectory() {
			continue
		}
		if err := w.into(ahead.take(index)); err != nil {
			return err
		}
	}
	return nil
}

// lookahead reads the directories of a listing before their turn.
type lookahead struct {
	*walker
	in *listing
	// reads has the result of each entry whose directory is read ahead, and next is the first entry that was not considered.
	reads []chan *listing
	next  int
}

// fill reads directories ahead from an entry on, as many as there is room for.
func (a *lookahead) fill(from int) {
	for a.next = max(a.next, from); a.next < len(a.reads); a.next++ {
		if !a.in.entries[a.next].isDirectory() {
			continue
		}
		select {
		case a.ahead <- struct{}{}:
		default:
			return
		}
		result := make(chan *listing, 1)
		a.reads[a.next] = result
		go func(entry Entry) {
			a.reading <- struct{}{}
			result <- a.readEntry(entry)
			<-a.reading
		}(a.in.entries[a.next])
	}
}

func (a *lookahead) readEntry(entry Entry) *listing {
	return a.read(int(a.in.opened.Fd()), filepath.Base(entry.Path), entry.Path)
}

// take returns the directory of an entry, and reads it if that was not done ahead.
func (a *lookahead) take(index int) *listing {
	read := a.reads[index]
	if read == nil {
		a.next = max(a.next, index+1)
		return a.readEntry(a.in.entries[index])
	}
	a.reads[index] = nil
	<-a.ahead
	return <-read
}

// close waits for what is read ahead and was not taken.
func (a *lookahead) close() {
	for index, read := range a.reads {
		if read == nil {
			continue
		}
		if l := a.take(index); l.opened != nil {
			_ = l.opened.Close()
		}
	}
}

// openDirectory opens a directory by its name in another one. It is nil if it was removed or replaced meanwhile.
func openDirectory(in int, name string) (*os.File, error) {
	descriptor, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unlessGone(err)
	}
	return os.NewFile(uintptr(descriptor), name), nil
}

// list returns the names in a directory, sorted.
func list(directory *os.File) ([]string, error) {
	names, err := directory.Readdirnames(-1)
	slices.Sort(names)
	return names, unlessGone(err)
}
