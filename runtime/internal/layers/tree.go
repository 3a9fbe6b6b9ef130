package layers

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// whiteout begins the name by which a layer says that a file is gone, so that no file of a layer can have such a name.
const whiteout = ".wh."

// tree is a folder whose changes are recorded.
type tree struct {
	root string
	// leftOut are paths that belong to no layer, with all below them.
	leftOut map[string]bool
	// unfit counts files that no layer can have.
	unfit int
}

// openTree leaves out what the system mounts, the folder of the daemon, and the files given.
func openTree(root string, files ...string) (*tree, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = mounts.Close() }()
	paths, err := readMounts(mounts)
	if err != nil {
		return nil, err
	}
	made := &tree{root: root, leftOut: map[string]bool{"proc": true, "sys": true, "dev": true, ".sandlot": true}}
	for _, file := range files {
		place, err := realPlace(file)
		if err != nil {
			return nil, err
		}
		paths = append(paths, place)
	}
	for _, path := range paths {
		if relative, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(relative) && relative != "." {
			made.leftOut[relative] = true
		}
	}
	return made, nil
}

// realPlace resolves links on the way to a file that may not exist yet.
func realPlace(file string) (string, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	return filepath.Join(folder, filepath.Base(absolute)), err
}

// readMounts returns the mount points of a mountinfo: the fifth field of each line.
func readMounts(in io.Reader) ([]string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, escapes.Replace(fields[4]))
		}
	}
	return points, nil
}

// escapes are the bytes that mountinfo writes in octal.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// isLeftOut says whether the path, or a directory above it, belongs to no layer.
func (t *tree) isLeftOut(path string) bool {
	for ; path != "." && path != "/"; path = filepath.Dir(path) {
		if t.leftOut[path] {
			return true
		}
	}
	return false
}

func (t *tree) place(path string) string { return filepath.Join(t.root, path) }

// walk calls visit for all that a layer can have, in the order of compare.
func (t *tree) walk(visit func(Entry) error) error {
	return t.walkInto("", visit)
}

func (t *tree) walkInto(directory string, visit func(Entry) error) error {
	names, err := t.list(directory)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(directory, name)
		if t.leftOut[path] {
			continue
		}
		entry, isThere, err := look(t.place(path), path)
		if err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
		if !isThere || !t.fits(name, entry) {
			continue
		}
		if err := visit(entry); err != nil {
			return err
		}
		if !entry.isDirectory() {
			continue
		}
		if err := t.walkInto(path, visit); err != nil {
			return err
		}
	}
	return nil
}

// list returns the names in a directory. One that was removed or replaced meanwhile has none.
func (t *tree) list(directory string) ([]string, error) {
	place := t.place(directory)
	descriptor, err := unix.Open(place, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if err := unlessGone(err); err != nil {
			return nil, fmt.Errorf("%q: %w", directory, err)
		}
		return nil, nil
	}
	opened := os.NewFile(uintptr(descriptor), place)
	defer func() { _ = opened.Close() }()
	names, err := opened.Readdirnames(-1)
	slices.Sort(names)
	return names, unlessGone(err)
}

// fits says whether a layer can have the file. To the file system of a container a device 0:0 is a whiteout, too.
func (t *tree) fits(name string, e Entry) bool {
	if e.kind() == unix.S_IFSOCK {
		return false
	}
	if strings.HasPrefix(name, whiteout) || e.kind() == unix.S_IFCHR && e.Rdev == 0 {
		t.unfit++
		return false
	}
	return true
}
