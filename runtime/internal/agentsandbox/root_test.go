package agentsandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzNoPathLeadsOutOfTheBase(f *testing.F) {
	for _, seed := range []string{"a", "../x", "in/../../x", "out/x", "out/../x", "loop/x", "/etc/passwd", "dangling", "in/up/up/../x", "\x00"} {
		f.Add(seed)
	}
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	base := root + "/base"
	_ = os.MkdirAll(base+"/in", 0o755)
	_ = os.Symlink(root, base+"/out")
	_ = os.Symlink("..", base+"/in/up")
	_ = os.Symlink("loop", base+"/loop")
	_ = os.Symlink("../../x", base+"/dangling")
	f.Fuzz(func(t *testing.T, path string) {
		at := Place{Base: base}
		if itself, inside := at.InsideItself(path); inside && itself != base {
			real, err := filepath.EvalSymlinks(filepath.Dir(itself))
			if err == nil && !below(real, base) {
				t.Errorf("%q is an entry of %s", path, real)
			}
		}
		absolute, inside := at.Inside(path)
		if !inside {
			return
		}
		// The kernel's own resolution is the expected result.
		real, err := filepath.EvalSymlinks(absolute)
		if err == nil && !below(real, base) {
			t.Errorf("%q leads to %s", path, real)
		}
	})
}
