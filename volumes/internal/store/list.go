package store

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// MostDepth is how far a list may go down.
	MostDepth = 10
	// mostListed bounds the memory that a list takes: a sandbox may make any number of files.
	mostListed = 20_000
	batch      = 256
)

// List describes what is below a directory, parents before children and by name. It does not follow links.
func (s *Store) List(id, given string, depth int) ([]Stat, error) {
	if depth < 1 || depth > MostDepth {
		return nil, refuse(http.StatusBadRequest, "depth: expected a number from 1 to %d", MostDepth)
	}
	shown, inside, err := clean(given)
	if err != nil {
		return nil, err
	}
	volume, err := s.volume(id)
	if err != nil {
		return nil, err
	}
	defer volume.Close()
	info, err := volume.Stat(inside)
	if err != nil {
		return nil, explain(err, shown)
	}
	if !info.IsDir() {
		return nil, refuse(http.StatusBadRequest, "path '%s' is not a directory", shown)
	}
	lister := &lister{volume: volume, found: []Stat{}}
	if err := lister.walk(inside, shown, depth); err != nil {
		return nil, explain(err, shown)
	}
	return lister.found, nil
}

type lister struct {
	volume *os.Root
	found  []Stat
}

func (l *lister) walk(inside, shown string, depth int) error {
	names, err := l.names(inside, shown)
	if err != nil {
		return err
	}
	for _, name := range names {
		child := path.Join(inside, name)
		stat, err := describe(l.volume, child, path.Join(shown, name))
		var refusal *Refusal
		if errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
			// A sandbox has removed it meanwhile.
			continue
		}
		if err != nil {
			return err
		}
		if l.found = append(l.found, stat); len(l.found) > mostListed {
			return tooMany(shown)
		}
		if stat.Type != "directory" || depth == 1 {
			continue
		}
		// What its owner closed, or a sandbox removed, is listed without its children.
		err = l.walk(child, stat.Path, depth-1)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// names returns what a directory has, sorted, and refuses one with more than a list may have.
func (l *lister) names(inside, shown string) ([]string, error) {
	directory, err := openPlain(l.volume, inside)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	var names []string
	for {
		some, err := directory.Readdirnames(batch)
		names = append(names, some...)
		if len(names)+len(l.found) > mostListed {
			return nil, tooMany(shown)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names, nil
}

func tooMany(shown string) error {
	return refuse(http.StatusBadRequest, "path '%s' has more than %d entries; list with less depth, or in a sandbox", shown, mostListed)
}
