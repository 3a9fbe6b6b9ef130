package agentsandbox

import (
	"os"
	"path/filepath"
	"strings"

	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

// usualBase is the working folder of images for these SDKs.
const usualBase = "/app"

// Root finds the place of each request, which /init may change.
type Root struct {
	Session *session.Session
	// BaseDir is the root of all paths; empty means /app if it exists, else the default working directory.
	BaseDir string
}

// Place is the user that a request acts for and the root of its paths.
type Place struct {
	User users.User
	// Base is absolute.
	Base string
}

// Place returns the place of a request.
func (r Root) Place() (Place, error) {
	user, err := r.Session.User("")
	if err != nil {
		return Place{}, err
	}
	base := r.BaseDir
	if base == "" {
		if info, err := os.Stat(usualBase); err == nil && info.IsDir() {
			base = usualBase
		}
	}
	base, err = r.Session.Resolve(base, user)
	return Place{user, base}, err
}

// Inside returns the absolute path, and whether it is below the base after symlinks are resolved. A path that does
// not exist is judged by its nearest existing parent.
func (p Place) Inside(path string) (string, bool) {
	absolute, ok := p.absolute(path)
	return absolute, ok && below(resolveExisting(absolute), p.realBase())
}

// InsideItself is Inside for work on an entry that follows no symlink in its place, such as a removal: where a symlink
// leads does not count, only where it is.
func (p Place) InsideItself(path string) (string, bool) {
	absolute, ok := p.absolute(path)
	if absolute == p.Base {
		return absolute, ok
	}
	return absolute, ok && below(resolveExisting(filepath.Dir(absolute)), p.realBase())
}

func (p Place) absolute(path string) (string, bool) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", false
	}
	if filepath.IsAbs(path) && below(filepath.Clean(path), p.Base) {
		return filepath.Clean(path), true
	}
	return filepath.Join(p.Base, path), true
}

func (p Place) realBase() string {
	if base, err := filepath.EvalSymlinks(p.Base); err == nil {
		return base
	}
	return p.Base
}

// resolveExisting resolves the symlinks in the existing part of a path. A dangling symlink is followed to its target path.
func resolveExisting(path string) string {
	rest := ""
	for at, hops := path, 0; hops < 255; hops++ {
		resolved, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(resolved, rest)
		}
		if target, err := os.Readlink(at); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(at), target)
			}
			at = filepath.Clean(target)
			continue
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = filepath.Dir(at)
	}
	// The kernel follows fewer links than this, so nothing can be opened there: treat the path as outside.
	return ""
}

func below(path, base string) bool {
	return path == base || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}
