package layers

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"golang.org/x/sys/unix"
)

func TestATreeThatDidNotChangeGivesAnEmptyLayer(t *testing.T) {
	w := newWork(t)
	w.sh("mkdir -p a/b; echo x > a/b/c; ln -s b a/l; touch a-b a.b ab")
	if got := w.scan(); !strings.Contains(got, `"entries":7`) {
		t.Errorf("it says %s", got)
	}
	said, layer := w.diff()
	if got := names(t, layer); len(got) > 0 || !strings.HasPrefix(said, `{"entries":0,"bytes":1024,`) {
		t.Errorf("the layer has %q, and it says %s", got, said)
	}
}

func TestFindsWhatChanged(t *testing.T) {
	const base = "mkdir -p d/e; echo 1 > d/e/f; echo 1 > d/g; ln -s g d/s; echo 1 > h; ln h i; mkfifo p; "
	for name, row := range map[string]struct {
		change string
		want   []string
	}{
		"content":                                {"echo 2 > d/g", []string{"d/g"}},
		"content of the same size and time":      {"touch -r d/g /tmp/r$$; echo 2 > d/g; touch -r /tmp/r$$ d/g; rm /tmp/r$$", []string{"d/g"}},
		"mode":                                   {"chmod 4711 d/g", []string{"d/g"}},
		"owner":                                  {"chown 12:34 d/e", []string{"d/e/"}},
		"owner of a link":                        {"chown -h 12 d/s", []string{"d/s=g"}},
		"target of a link":                       {"ln -sfn x d/s", []string{"d/", "d/s=x"}},
		"time":                                   {"touch -d @7 d/g", []string{"d/g"}},
		"a new file":                             {"echo 1 > d/e/n", []string{"d/e/", "d/e/n"}},
		"a new name of a file":                   {"ln d/g d/a", []string{"d/", "d/a", "d/g=d/a"}},
		"one of two names of a file":             {"echo 2 > h", []string{"h", "i=h"}},
		"a file that takes the place of another": {"echo 1 > n; mv n d/g", []string{"d/", "d/g"}},
		"a file that is gone":                    {"rm d/g", []string{"d/", "d/.wh.g"}},
		"a directory that is gone":               {"rm -r d", []string{".wh.d"}},
		"a directory that became a file":         {"rm -r d; echo 1 > d", []string{"d"}},
		"a file that became a directory":         {"rm d/g; mkdir d/g; echo 1 > d/g/x", []string{"d/", "d/g/", "d/g/x"}},
		"a directory that became a link":         {"mv d x; ln -s x d", []string{"d=x", "x/", "x/e/", "x/e/f", "x/g", "x/s=g"}},
		"a pipe that is gone, beside a longer p": {"rm p; echo 1 > pp", []string{".wh.p", "pp"}},
		"a name that means a loss":               {"echo 1 > .wh.h; mkdir .wh..wh..opq; mknod c c 0 0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.sh(base)
			w.scan()
			w.sh(row.change)
			_, layer := w.diff()
			got := names(t, layer)
			if !slices.Equal(got, row.want) {
				t.Errorf("the layer has %q, want %q", got, row.want)
			}
			w.expectNames()
		})
	}
}

func TestASocketIsNoFileOfALayer(t *testing.T) {
	w := newWork(t)
	w.sh("echo 1 > a")
	w.scan()
	w.sh("rm a")
	w.do(unix.Mknod(w.root+"/a", unix.S_IFSOCK|0o600, 0))
	w.expectNames(".wh.a")
	w.expectNames()
}

func TestLeavesOutWhatIsMountedAndKeepsWhatItHides(t *testing.T) {
	w := newWork(t)
	w.sh("mkdir -p etc proc sys dev .sandlot 'my data/x'; echo 1 > etc/hosts; echo 1 > 'my data/x/y'; echo 1 > proc/a; echo 1 > .sandlot/b")
	w.scan()
	hosts := w.root + "/etc/hosts"
	w.do(unix.Mount("none", w.root+"/my data", "tmpfs", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(w.root+"/my data", unix.MNT_DETACH) })
	w.do(os.WriteFile(w.dir+"/hosts", []byte("2"), 0o600))
	w.do(unix.Mount(w.dir+"/hosts", hosts, "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(hosts, unix.MNT_DETACH) })
	w.sh("echo 3 > 'my data/z'; echo 2 > proc/a; echo 2 > sys/b; echo 2 > dev/c; echo 2 > .sandlot/b; echo 1 > etc/n")
	w.expectNames("etc/", "etc/n")
	w.do(unix.Unmount(w.root+"/my data", 0))
	w.do(unix.Unmount(hosts, 0))
	w.expectNames()
}

// gVisor mounts a tmpfs over an empty /tmp, and the kubelet files over those that say how the network is reached.
func TestATmpfsIsPartOfTheImageAtTmpOnly(t *testing.T) {
	w := newWork(t)
	w.sh("mkdir -p tmp etc var/tmp run/e2b; touch etc/hosts etc/hostname etc/resolv.conf")
	mount := func(source, target, kind string, flags uintptr) {
		t.Helper()
		w.do(unix.Mount(source, w.root+target, kind, flags, ""))
		t.Cleanup(func() { _ = unix.Unmount(w.root+target, unix.MNT_DETACH) })
	}
	mount("none", "/tmp", "tmpfs", 0)
	mount("none", "/var/tmp", "tmpfs", 0)
	w.do(os.WriteFile(w.dir+"/given", []byte("1"), 0o600))
	for _, file := range []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"} {
		mount(w.dir+"/given", file, "", unix.MS_BIND)
	}
	w.sh("chmod 1777 tmp; mkdir tmp/below; touch tmp/bound")
	mount("none", "/tmp/below", "tmpfs", 0)
	mount(w.dir+"/given", "/tmp/bound", "", unix.MS_BIND)
	w.scan()
	w.sh("echo 1 > tmp/a; mkdir tmp/d; echo 1 > tmp/d/b; echo 1 > tmp/below/c; echo 2 > tmp/bound; echo 1 > var/tmp/e")
	w.sh("echo 2 > etc/hosts; echo 2 > etc/hostname; echo 2 > etc/resolv.conf; echo 1 > run/e2b/.E2B_SANDBOX")
	w.do(unix.Mknod(w.root+"/tmp/socket", unix.S_IFSOCK|0o600, 0))
	_, layer := w.diff()
	if got, want := names(t, layer), []string{"tmp/", "tmp/a", "tmp/d/", "tmp/d/b"}; !slices.Equal(got, want) {
		t.Errorf("the layer has %q, want %q", got, want)
	}
	if header, err := tar.NewReader(bytes.NewReader(layer)).Next(); err != nil || header.Mode != 0o1777 {
		t.Errorf("the folder is %+v (%v)", header, err)
	}
	w.sh("rm -r tmp/d")
	w.expectNames("tmp/", "tmp/.wh.d")
}

func TestWhatIsNoTmpfsIsLeftOutAtTmp(t *testing.T) {
	for name, row := range map[string]struct {
		mounts string
		want   []string
	}{
		"a tmpfs":                     {"1 0 0:1 / /r/tmp rw - tmpfs none rw\n", nil},
		"with optional fields":        {"1 0 0:1 / /r/tmp rw shared:7 master:1 - tmpfs none rw\n", nil},
		"a volume":                    {"1 0 0:1 / /r/tmp rw - ext4 /dev/sda rw\n", []string{"/r/tmp"}},
		"a tmpfs over a volume":       {"1 0 0:1 / /r/tmp rw - 9p none rw\n2 1 0:2 / /r/tmp rw - tmpfs none rw\n", nil},
		"a volume over a tmpfs":       {"1 0 0:1 / /r/tmp rw - tmpfs none rw\n2 1 0:2 / /r/tmp rw - 9p none rw\n", []string{"/r/tmp"}},
		"a tmpfs elsewhere, escaped":  {"1 0 0:1 / /r/a\\040b rw - tmpfs none rw\n", []string{"/r/a b"}},
		"a line that was cut off":     {"1 0 0:1 /\n", nil},
		"a tmpfs below it":            {"1 0 0:1 / /r/tmp/a rw - tmpfs none rw\n", []string{"/r/tmp/a"}},
		"a line without file systems": {"1 0 0:1 / /r/tmp rw\n", []string{"/r/tmp"}},
	} {
		got, err := readMounts(strings.NewReader(row.mounts), "/r/tmp")
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q (%v)", name, got, err)
		}
	}
}

func TestLeavesOutItsOwnFiles(t *testing.T) {
	w := newWork(t)
	w.sh("mkdir work")
	w.do(os.Symlink(w.root+"/work", w.dir+"/link"))
	w.dir += "/link"
	w.scan()
	w.sh("echo 1 > work/n")
	w.expectNames("work/", "work/n")
	// The directory changed when the index was replaced.
	w.expectNames("work/")
}

func TestLeavesOutTheFolderOfTheBuild(t *testing.T) {
	w := newWork(t)
	w.dir = w.root + "/.sandlot-build"
	w.scan()
	w.sh("echo 1 > .sandlot-build/archive; echo 1 > n")
	w.expectNames("n")
	w.expectNames()
}

func TestATreeThatChangesWhileItIsReadGivesAWholeLayer(t *testing.T) {
	w := newWork(t)
	w.sh("echo 123456 > shrinks; echo 1 > goes; echo 1 > pipe; echo 1 > stays")
	seen := map[string]Entry{}
	tree := &tree{root: w.root}
	w.do(tree.walk(func(e Entry) error { seen[e.Path] = e; return nil }))
	w.sh("rm goes pipe; mkfifo pipe")
	var out bytes.Buffer
	a := newArchive(tree, &counter{out: &out})
	for _, name := range []string{"goes", "pipe"} {
		if _, isThere, err := a.add(seen[name]); isThere || err != nil {
			t.Errorf("%s: %v (%v)", name, isThere, err)
		}
	}
	file, now, err := open(w.root+"/shrinks", seen["shrinks"])
	w.do(err)
	w.do(os.Truncate(w.root+"/shrinks", 2))
	w.do(a.tar.WriteHeader(&tar.Header{Name: "shrinks", Size: now.Size}))
	w.do(a.copy(file, now))
	_, _, err = a.add(seen["stays"])
	w.do(err)
	w.do(a.tar.Close())
	if a.unsettled != 3 {
		t.Errorf("%d files are unsettled", a.unsettled)
	}
	reader := tar.NewReader(&out)
	for _, want := range []string{"12\x00\x00\x00\x00\x00", "1\n"} {
		_, err := reader.Next()
		w.do(err)
		if got, err := io.ReadAll(reader); string(got) != want || err != nil {
			t.Errorf("the content is %q (%v)", got, err)
		}
	}
}

func TestALayerAboveTheLimitLeavesTheIndexAsItWas(t *testing.T) {
	w := newWork(t)
	w.scan()
	w.sh("head -c 100000 /dev/zero > big")
	err := Run([]string{"diff", "--root", w.root, "--index", w.dir + "/index", "--out", w.dir + "/layer.tar", "--limit", "50000"}, io.Discard)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("it says %v", err)
	}
	left, err := filepath.Glob(w.dir + "/*")
	if err != nil || len(left) != 1 {
		t.Errorf("it left %q (%v)", left, err)
	}
	w.expectNames("big")
}

func TestRefusesArgumentsThatAreNone(t *testing.T) {
	for _, args := range []string{"", "scan", "diff --index x", "scan --index x --out y", "other --index x", "scan --index x y", "scan --index x --no"} {
		if err := Run(strings.Fields(args), io.Discard); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestAnIndexGivesBackItsEntriesInTheirOrder(t *testing.T) {
	paths := []string{"a", "a/b", "a/b/c", "a-b", "a.b", "ab", "ab\nc", "b\xff", "b\xff/\x01"}
	if !slices.IsSortedFunc(paths, compare) {
		t.Error("the paths of a walk are not in order")
	}
	property := func(e Entry) bool {
		var out bytes.Buffer
		writer := newIndexWriter(&out)
		e.Dev, e.Links = 0, 0
		e.Target = e.Target[:min(len(e.Target), longestPath)]
		for _, path := range paths {
			e.Path = path
			writer.add(e)
		}
		if writer.finish() != nil {
			return false
		}
		reader, err := newIndexReader(&out)
		for _, path := range paths {
			e.Path = path
			if err != nil || reader.isOver || reader.next != e {
				return false
			}
			err = reader.advance()
		}
		return err == nil && reader.isOver
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}

func FuzzAnIndexOfAStranger(f *testing.F) {
	var out bytes.Buffer
	writer := newIndexWriter(&out)
	writer.add(Entry{Path: "a", Mode: unix.S_IFDIR})
	writer.add(Entry{Path: "a/b", Target: "c"})
	_ = writer.finish()
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:out.Len()-2])
	f.Fuzz(func(t *testing.T, data []byte) {
		reader, err := newIndexReader(bytes.NewReader(data))
		last := ""
		for err == nil && !reader.isOver {
			if compare(reader.next.Path, last) <= 0 {
				t.Fatalf("%q comes after %q", reader.next.Path, last)
			}
			last = reader.next.Path
			(&tree{}).isLeftOut(last)
			err = reader.advance()
		}
		if err != nil && !errors.Is(err, errIndex) {
			t.Errorf("it says %v", err)
		}
	})
}
