package paths

import (
	"path/filepath"
	"testing"
)

var home = Base{Home: "/home/user"}

func TestResolveUsesHomeAndWorkdir(t *testing.T) {
	for name, row := range map[string]struct {
		path string
		base Base
		want string
	}{
		"an absolute path stays":                      {"/a/b", home, "/a/b"},
		"dots are removed":                            {"/a/./b/../c//", home, "/a/c"},
		"nothing goes above the root":                 {"/../..", home, "/"},
		"a relative path is below the home":           {"a/b", Base{"/home/user", "/work"}, "/home/user/a/b"},
		"a tilde is the home":                         {"~", home, "/home/user"},
		"a tilde with a slash is the home":            {"~/a", home, "/home/user/a"},
		"an empty path is the workdir":                {"", Base{"/home/user", "/work/"}, "/work"},
		"a workdir may be below the home":             {"", Base{"/home/user", "w"}, "/home/user/w"},
		"a workdir may be written with a tilde":       {"", Base{"/home/user", "~/w"}, "/home/user/w"},
		"an empty path is the home without a workdir": {"", home, "/home/user"},
		"a tilde later in a path is a name":           {"/a/~", home, "/a/~"},
	} {
		got, err := Resolve(row.path, row.base)
		if got != row.want || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestResolveRejectsOtherHomesAndNUL(t *testing.T) {
	for path, want := range map[string]error{"~root": ErrOtherHome, "~root/x": ErrOtherHome, "~~": ErrOtherHome, "a\x00b": ErrNul} {
		if _, err := Resolve(path, home); err != want {
			t.Errorf("%q: got %v", path, err)
		}
	}
}

func FuzzResolveGivesCleanAbsolutePathsOrAnError(f *testing.F) {
	for _, seed := range []string{"", "~", "~/x", "~x", "/", "..", "a/../../b", "\x00", "//a", "~/../.."} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, path, workdir string) {
		got, err := Resolve(path, Base{Home: "/home/user", Workdir: workdir})
		if err == nil && (!filepath.IsAbs(got) || filepath.Clean(got) != got) {
			t.Errorf("%q with %q became %q", path, workdir, got)
		}
	})
}
