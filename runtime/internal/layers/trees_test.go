package layers

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// work is a tree, its index and its layers.
type work struct {
	t    *testing.T
	root string
	dir  string
}

func newWork(t *testing.T) work {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test makes devices and mounts, and needs root")
	}
	w := work{t, filepath.Join(t.TempDir(), "root"), t.TempDir()}
	w.do(os.Mkdir(w.root, 0o755))
	return w
}

func (w work) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// sh runs a script in the root of the tree.
func (w work) sh(script string) {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.root
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v %s", script, err, out)
	}
}

func (w work) run(args ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	w.do(Run(args, &out))
	return strings.TrimSpace(out.String())
}

func (w work) scan() string {
	w.t.Helper()
	return w.run("scan", "--root", w.root, "--index", w.dir+"/index")
}

// diff returns the line of JSON and the layer.
func (w work) diff() (string, []byte) {
	w.t.Helper()
	said := w.run("diff", "--root", w.root, "--index", w.dir+"/index", "--out", w.dir+"/layer.tar")
	layer, err := os.ReadFile(w.dir + "/layer.tar")
	w.do(err)
	return said, layer
}

// names lists the layer, with what a hard or symbolic link leads to.
func names(t *testing.T, layer []byte) []string {
	t.Helper()
	var found []string
	for reader := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		name := header.Name
		if header.Linkname != "" {
			name += "=" + header.Linkname
		}
		found = append(found, name)
	}
}

func (w work) expectNames(want ...string) {
	w.t.Helper()
	_, layer := w.diff()
	if got := names(w.t, layer); !slices.Equal(got, want) {
		w.t.Errorf("the layer has %q, want %q", got, want)
	}
}

// describe says everything about a tree that a layer keeps.
func describe(t *testing.T, root string) map[string]string {
	t.Helper()
	lines := map[string]string{}
	first := map[identity]string{}
	tree := &tree{root: root}
	err := tree.walk(func(e Entry) error {
		attributes, err := readAttributes(tree.place(e.Path))
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%o %d:%d %v %x %q", e.Mode, e.UID, e.GID, attributes, e.Rdev, e.Target)
		if e.isFile() {
			content, err := os.ReadFile(tree.place(e.Path))
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", e.Size, sha256.Sum256(content))
		}
		if !e.isDirectory() {
			line += fmt.Sprintf(" %d.%d", e.Mtime.Sec, e.Mtime.Nsec)
		}
		if key := (identity{e.Dev, e.Ino}); e.isFile() && e.Links > 1 {
			if first[key] == "" {
				first[key] = e.Path
			}
			line += " like " + first[key]
		}
		lines[e.Path] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func expectSame(t *testing.T, got, want string) {
	t.Helper()
	has, wants := describe(t, got), describe(t, want)
	paths := slices.Sorted(maps.Keys(wants))
	for path := range has {
		if _, found := wants[path]; !found {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if has[path] != wants[path] {
			t.Errorf("%q is\n%s, want\n%s", path, has[path], wants[path])
		}
	}
}

func statOf(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat
}
