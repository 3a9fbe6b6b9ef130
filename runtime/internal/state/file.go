package state

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	fileName = "state.json"
	maxBytes = 8 << 20
)

// File stores the settings in a private file in the daemon's folder.
type File struct {
	dir string
}

// NewFile returns a File in dir, which must exist.
func NewFile(dir string) *File { return &File{dir: dir} }

// load returns the saved settings. It ignores a file that another user could have written, which could plant a token.
func (f *File) load() (Settings, bool) {
	file, err := os.OpenFile(filepath.Join(f.dir, fileName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Settings{}, false
	}
	defer file.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil || !private(&stat) {
		return Settings{}, false
	}
	content, err := io.ReadAll(io.LimitReader(file, maxBytes))
	if err != nil {
		return Settings{}, false
	}
	var settings Settings
	if err := json.Unmarshal(content, &settings); err != nil {
		return Settings{}, false
	}
	return settings, true
}

func private(stat *unix.Stat_t) bool {
	return stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Mode&0o077 == 0 && int(stat.Uid) == os.Getuid()
}

// save replaces the file atomically: after a crash it has the old settings or the new ones.
func (f *File) save(settings Settings) error {
	content, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	partial, err := os.CreateTemp(f.dir, ".state-*")
	if err != nil {
		return fmt.Errorf("keeping the settings: %w", err)
	}
	defer os.Remove(partial.Name())
	_, err = partial.Write(content)
	if closing := partial.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(partial.Name(), filepath.Join(f.dir, fileName))
	}
	if err != nil {
		return fmt.Errorf("keeping the settings: %w", err)
	}
	return nil
}
