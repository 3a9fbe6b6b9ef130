package store

import (
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// Stat is what clients learn of a file, a directory or a link.
type Stat struct {
	Name   string    `json:"name"`
	Type   string    `json:"type"`
	Path   string    `json:"path"`
	Size   int64     `json:"size"`
	Mode   uint32    `json:"mode"`
	UID    uint32    `json:"uid"`
	GID    uint32    `json:"gid"`
	Atime  time.Time `json:"atime"`
	Mtime  time.Time `json:"mtime"`
	Ctime  time.Time `json:"ctime"`
	Target *string   `json:"target,omitempty"`
}

// Stat describes what is at the path, and a link itself.
func (s *Store) Stat(id, given string) (Stat, error) {
	shown, inside, err := clean(given)
	if err != nil {
		return Stat{}, err
	}
	volume, err := s.volume(id)
	if err != nil {
		return Stat{}, err
	}
	defer volume.Close()
	return describe(volume, inside, shown)
}

func describe(volume *os.Root, inside, shown string) (Stat, error) {
	info, err := volume.Lstat(inside)
	if err != nil {
		return Stat{}, explain(err, shown)
	}
	stat := read(info, shown)
	if stat.Type == "symlink" {
		// A link that is gone by now has no target.
		if target, err := volume.Readlink(inside); err == nil {
			stat.Target = &target
		}
	}
	return stat, nil
}

func read(info fs.FileInfo, shown string) Stat {
	stat := Stat{
		Name: path.Base(shown), Type: kind(info.Mode()), Path: shown, Size: info.Size(), Mode: uint32(info.Mode().Perm()),
		Mtime: shorten(info.ModTime()),
	}
	if system, hasMore := info.Sys().(*syscall.Stat_t); hasMore {
		stat.UID, stat.GID = system.Uid, system.Gid
		stat.Atime, stat.Ctime = shorten(time.Unix(system.Atim.Unix())), shorten(time.Unix(system.Ctim.Unix()))
	}
	return stat
}

// shorten returns a time as clients of every language can read it.
func shorten(exact time.Time) time.Time { return exact.UTC().Truncate(time.Millisecond) }

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "unknown"
}
