package trust

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The lines around the authorities in a store of the image. A later call finds by them what it has to replace.
const (
	blockBegin = "# Begin of the authorities that the daemon of Sandlot added\n"
	blockEnd   = "# End of the authorities that the daemon of Sandlot added\n"
)

// anchor is a file in a folder from which the tools of a distribution make its store anew.
type anchor struct{ folder, name string }

var anchors = []anchor{
	{"usr/local/share/ca-certificates", "sandlot-egress.crt"},
	{"etc/pki/ca-trust/source/anchors", "sandlot-egress.pem"},
}

// changeImage adds the authorities to the image's own stores, because sudo drops variables, and the main process of a
// container that a hook started gets none. It changes only what is there. A store that cannot be written is no error: the
// file system of a container may be read-only, or the store a volume.
func (s *Store) changeImage(authorities string) {
	change := func(store []byte) ([]byte, error) { return []byte(withBlock(string(store), authorities)), nil }
	done := map[string]bool{}
	for _, store := range imageStores {
		path, err := filepath.EvalSymlinks(filepath.Join(s.base, store))
		if err != nil || done[path] || !s.isKnown(path) {
			continue
		}
		done[path] = true
		report(path, s.changeStore(path, change))
	}
	for _, each := range anchors {
		path := filepath.Join(s.base, each.folder, each.name)
		report(path, s.changeAnchor(path, authorities))
	}
	s.changeJavaStores(authorities)
}

// isKnown reports whether a store is one by its own name. A link may lead to another store and nowhere else.
func (s *Store) isKnown(path string) bool {
	return slices.ContainsFunc(imageStores, func(store string) bool { return filepath.Join(s.base, store) == path })
}

func (s *Store) changeStore(path string, change func(store []byte) ([]byte, error)) error {
	folder, err := s.openGuarded(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	name := filepath.Base(path)
	info, err := folder.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || !isOwn(info) || info.Size() > maxStoreBytes {
		return errUnguarded
	}
	content, err := folder.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := change(content)
	if err != nil {
		return err
	}
	return replace(folder, file{name: name, content: string(changed), mode: info.Mode().Perm()})
}

func (s *Store) changeAnchor(path, authorities string) error {
	folder, err := s.openGuarded(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	if authorities == "" {
		return removeIfThere(folder, filepath.Base(path))
	}
	return replace(folder, file{name: filepath.Base(path), content: authorities, mode: 0o644})
}

var errUnguarded = errors.New("other users than root may write there")

// openGuarded opens a folder of the image if no other user can put another folder in its place: this user alone may write to it and
// to every folder above it.
func (s *Store) openGuarded(path string) (*os.Root, error) {
	for each := path; ; each = filepath.Dir(each) {
		info, err := os.Lstat(each)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() || !isOwn(info) {
			return nil, errUnguarded
		}
		if each == filepath.Clean(s.base) {
			return os.OpenRoot(path)
		}
	}
}

func report(path string, err error) {
	for _, usual := range []error{nil, errUnguarded, fs.ErrNotExist, fs.ErrPermission, syscall.EROFS, syscall.EBUSY} {
		if errors.Is(err, usual) {
			return
		}
	}
	slog.Error("cannot add the authorities to a store of the image", "path", path, "error", err)
}

// withBlock returns a store with the authorities in place of those that were added before.
func withBlock(store, authorities string) string {
	rest := withoutBlock(store)
	if authorities == "" {
		return rest
	}
	if rest != "" && !strings.HasSuffix(rest, "\n") {
		rest += "\n"
	}
	return rest + blockBegin + authorities + blockEnd
}

func withoutBlock(store string) string {
	for {
		before, after, found := strings.Cut(store, blockBegin)
		_, rest, ended := strings.Cut(after, blockEnd)
		if !found || !ended {
			return store
		}
		store = before + rest
	}
}
