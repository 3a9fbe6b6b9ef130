// Package paths makes the paths of requests absolute.
package paths

import (
	"errors"
	"path/filepath"
	"strings"
)

// ErrOtherHome rejects `~name`: only the user's own home is resolved.
var ErrOtherHome = errors.New("a path may start with '~' or '~/', not with '~' and a user name")

// ErrNul rejects paths that no system call accepts.
var ErrNul = errors.New("a path may not contain a NUL byte")

// Base is the base of relative and empty paths.
type Base struct {
	// Home is the user's home, for `~` and relative paths.
	Home string
	// Workdir is the result for an empty path; empty means the home. It may be relative or start with `~`.
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
