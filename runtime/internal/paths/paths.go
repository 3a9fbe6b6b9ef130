// Package paths turns the paths of requests into absolute ones.
package paths

import (
	"errors"
	"path/filepath"
	"strings"
)

// ErrOtherHome refuses `~name`: homes of other users are not resolved.
var ErrOtherHome = errors.New("a path may start with '~' or '~/', not with '~' and a user name")

// ErrNul refuses what no system call takes.
var ErrNul = errors.New("a path may not contain a NUL byte")

// Base is what relative and empty paths are resolved against.
type Base struct {
	// Home is the user's home: of `~` and of relative paths.
	Home string
	// Workdir is what an empty path means; empty means the home. It may itself be relative or start with `~`.
	Workdir string
}

// Resolve returns the clean absolute path.
func Resolve(path string, base Base) (string, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", ErrNul
	}
	if path == "" {
		if base.Workdir == "" {
			return filepath.Clean(base.Home), nil
		}
		return Resolve(base.Workdir, Base{Home: base.Home})
	}
	if rest, tilde := strings.CutPrefix(path, "~"); tilde {
		if rest != "" && rest[0] != '/' {
			return "", ErrOtherHome
		}
		return filepath.Join(base.Home, rest), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(base.Home, path), nil
}
