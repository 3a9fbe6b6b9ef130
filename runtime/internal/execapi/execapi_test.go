package execapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWordsSplitsLikeAShell(t *testing.T) {
	for line, want := range map[string]string{
		`a b`: "a|b", ` a	b\n `: "a|bn", `'a b' c`: "a b|c", `"a 'b'"`: "a 'b'", `a\ b`: "a b", `"a\"b\\c\d"`: `a"b\c\d`, `''`: "", `a''b`: "ab", `'\'`: `\`,
	} {
		got, err := words(line)
		if strings.Join(got, "|") != want || err != nil {
			t.Errorf("%s: got %q, %v", line, got, err)
		}
	}
	for line, want := range map[string]error{`'a`: errUnclosed, `a\`: errUnclosed, `"`: errUnclosed, ` `: errNoWords, ``: errNoWords} {
		if _, err := words(line); err != want {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

func FuzzWordsThatAreQuotedComeBackAsTheyWere(f *testing.F) {
	f.Add("a b", "'", "\\")
	f.Add("", "\n", `"`)
	f.Fuzz(func(t *testing.T, first, second, third string) {
		quoted := make([]string, 0, 3)
		for _, each := range []string{first, second, third} {
			quoted = append(quoted, "'"+strings.ReplaceAll(strings.ToValidUTF8(each, ""), "'", `'\''`)+"'")
		}
		got, err := words(strings.Join(quoted, " "))
		want := []string{strings.ToValidUTF8(first, ""), strings.ToValidUTF8(second, ""), strings.ToValidUTF8(third, "")}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 3 {
			t.Errorf("%q became %q, %v", quoted, got, err)
		}
		_, _ = words(first)
	})
}

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
		absolute, inside := place{base: base}.inside(path)
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
