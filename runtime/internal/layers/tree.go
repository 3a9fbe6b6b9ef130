package layers

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandlot.dev/runtime/internal/marks"
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

// temporary is where gVisor mounts a tmpfs if the image has nothing there. Programs take it for a part of the image, and it is one in
// the next sandbox from the layers: gVisor mounts nothing over a folder with content.
const temporary = "tmp"

// ofTheBuild is a folder on the disk of the container for layers and archives, which may be large. That of the daemon is in memory.
const ofTheBuild = ".sandlot-build"

// ofTheSandbox are mounted by the system, or written by the daemon or for a build.
var ofTheSandbox = []string{"proc", "sys", "dev", ".sandlot", ofTheBuild, strings.TrimPrefix(marks.DefaultDir, "/")}

// openTree leaves out what the system mounts, what the daemon writes, and the files given.
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
	paths, err := readMounts(mounts, filepath.Join(root, temporary))
	if err != nil {
		return nil, err
	}
	made := &tree{root: root, leftOut: map[string]bool{}}
	for _, path := range ofTheSandbox {
		made.leftOut[path] = true
	}
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

// readMounts returns the mount points of a mountinfo, without the one that is kept if that is a tmpfs.
func readMounts(in io.Reader, kept string) ([]string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		point, kind := readMount(line)
		if point == kept && kind == "tmpfs" {
			// It hides what is mounted there before it, as a later mount hides it.
			points = slices.DeleteFunc(points, func(other string) bool { return other == kept })
		} else if point != "" {
			points = append(points, point)
		}
	}
	return points, nil
}

// readMount returns the fifth field of a line, and the one that follows the hyphen behind the optional ones.
func readMount(line string) (point, kind string) {
	before, after, _ := strings.Cut(line, " - ")
	fields := strings.Fields(before)
	if len(fields) < 5 {
		return "", ""
	}
	kind, _, _ = strings.Cut(after, " ")
	return escapes.Replace(fields[4]), kind
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
