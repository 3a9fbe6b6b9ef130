package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var old = time.Unix(1_000_000_000, 0)

func file(name, content string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, ModTime: old, Xattrs: map[string]string{"content": content}}
}

func folder(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o750, ModTime: old}
}

func link(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}
}

// pack writes an archive. The content of a file is in its header.
func pack(t *testing.T, compress bool, headers ...tar.Header) string {
	t.Helper()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, header := range headers {
		content := header.Xattrs["content"]
		header.Xattrs, header.Size = nil, int64(len(content))
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "archive")
	content := plain.Bytes()
	if compress {
		var squeezed bytes.Buffer
		z := gzip.NewWriter(&squeezed)
		_, _ = z.Write(content)
		_ = z.Close()
		content = squeezed.Bytes()
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, c Copy) {
	t.Helper()
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func ownerOf(t *testing.T, path string) [2]uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return [2]uint32{stat.Uid, stat.Gid}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

var project = []tar.Header{
	folder("app/"), file("app/main.py", "main", 0o644), file("app/run", "run", 0o755), file("app/empty", "", 0o600),
	folder("app/lib"), file("app/lib/a b.py", "lib", 0o644), link("app/link", "lib/a b.py"), file("other/x", "x", 0o644),
}

func TestADirectoryMergesItsContents(t *testing.T) {
	for _, compress := range []bool{false, true} {
		to := filepath.Join(t.TempDir(), "srv", "app")
		run(t, Copy{Archive: pack(t, compress, project...), Source: "app", Destination: to, UID: 12, GID: 34})
		if read(t, to+"/main.py") != "main" || read(t, to+"/empty") != "" || read(t, to+"/link") != "lib" {
			t.Error("the contents are not those of the archive")
		}
		if got := modeOf(t, to+"/run"); got != 0o755 {
			t.Errorf("run has the mode %v", got)
		}
		for _, name := range []string{"", "/main.py", "/lib", "/link"} {
			if got := ownerOf(t, to+name); got != [2]uint32{12, 34} {
				t.Errorf("%q belongs to %v", name, got)
			}
		}
		if _, err := os.Stat(to + "/x"); err == nil {
			t.Error("something outside of the source was copied")
		}
		if info, _ := os.Stat(to + "/main.py"); !info.ModTime().Equal(old) {
			t.Errorf("the file is of %v", info.ModTime())
		}
	}
}

func TestAnExistingDirectoryKeepsItsMetadataAndLinksToOnesAreFollowed(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{root + "/real", root + "/app"} {
		if err := os.Mkdir(folder, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../real", root+"/app/lib"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/app/main.py", []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, Copy{Archive: pack(t, false, project...), Source: "app", Destination: root + "/app", UID: 12, GID: 34, Mode: 0o700, HasMode: true})
	if got := modeOf(t, root+"/app"); got != fs.ModeDir|0o711 {
		t.Errorf("the directory has the mode %v", got)
	}
	if got := ownerOf(t, root+"/app"); got == [2]uint32{12, 34} {
		t.Error("the directory has another owner")
	}
	if read(t, root+"/real/a b.py") != "lib" || read(t, root+"/app/main.py") != "main" {
		t.Error("the contents did not merge")
	}
	if got := modeOf(t, root+"/app/main.py"); got != 0o700 {
		t.Errorf("the file has the mode %v", got)
	}
}

func TestAFileGoesToTheDestinationOrIntoIt(t *testing.T) {
	root := t.TempDir()
	archive := pack(t, false, project...)
	run(t, Copy{Archive: archive, Source: "app/run", Destination: root + "/tool"})
	run(t, Copy{Archive: archive, Source: "app/run", Destination: root + "/bin/", Mode: 0o500, HasMode: true})
	run(t, Copy{Archive: archive, Source: "app/link", Destination: root + "/bin/"})
	if read(t, root+"/tool") != "run" || read(t, root+"/bin/run") != "run" || modeOf(t, root+"/bin/run") != 0o500 {
		t.Error("the file is not where it belongs")
	}
	if to, _ := os.Readlink(root + "/bin/link"); to != "lib/a b.py" {
		t.Errorf("the link leads to %q", to)
	}
}

func TestAFileReplacesALinkAndNotWhatItLeadsTo(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(root+"/kept", []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("kept", root+"/tool"); err != nil {
		t.Fatal(err)
	}
	run(t, Copy{Archive: pack(t, false, project...), Source: "app/run", Destination: root + "/tool"})
	if read(t, root+"/kept") != "kept" || read(t, root+"/tool") != "run" {
		t.Error("the file was written through the link")
	}
}

func TestADirectoryNeedsNoEntryOfItsOwn(t *testing.T) {
	root := t.TempDir()
	run(t, Copy{Archive: pack(t, false, file("./src/deep/x.py", "x", 0o644)), Source: "src", Destination: root + "/srv"})
	if read(t, root+"/srv/deep/x.py") != "x" {
		t.Error("the file is not where it belongs")
	}
}

func TestHardLinksStayWithinTheCopy(t *testing.T) {
	root := t.TempDir()
	hard := tar.Header{Name: "app/again", Typeflag: tar.TypeLink, Linkname: "app/run"}
	run(t, Copy{Archive: pack(t, false, append(project, hard)...), Source: "app", Destination: root + "/a"})
	if read(t, root+"/a/again") != "run" {
		t.Error("the hard link has other content")
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	hard := func(to string) tar.Header { return tar.Header{Name: "app/again", Typeflag: tar.TypeLink, Linkname: to} }
	for want, headers := range map[string][]tar.Header{
		"absolute path":                {file("/etc/passwd", "x", 0o644)},
		"leads out of it":              {file("app/../../etc/passwd", "x", 0o644)},
		"behind the link":              {folder("app"), link("app/etc", "/etc"), file("app/etc/cron", "x", 0o644)},
		"neither a file":               {folder("app"), {Name: "app/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"which is not copied":          {folder("app"), hard("other/x")},
		"behind a link":                {folder("app"), link("app/l", "/etc"), hard("app/l/passwd")},
		"source path does not exist":   {file("else", "x", 0o644)},
		"is a directory, and the sour": {folder("app"), file("app/taken", "x", 0o644)},
	} {
		root := t.TempDir()
		if err := os.MkdirAll(root+"/a/taken", 0o755); err != nil {
			t.Fatal(err)
		}
		err := Copy{Archive: pack(t, false, headers...), Source: "app", Destination: root + "/a"}.Run()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestNothingIsWrittenBehindALinkThatIsTheSource(t *testing.T) {
	for want, last := range map[string]tar.Header{
		`"app/passwd" behind the link "app"`: file("app/passwd", "x", 0o644),
		`"app/deep/x" behind the link "app"`: file("app/deep/x", "x", 0o644),
		`hard link to "app/there" behind`:    {Name: "app", Typeflag: tar.TypeLink, Linkname: "app/there"},
	} {
		root, elsewhere := t.TempDir(), t.TempDir()
		if err := os.WriteFile(elsewhere+"/there", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		err := Copy{Archive: pack(t, false, link("app", elsewhere), last), Source: "app", Destination: root + "/a"}.Run()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 1 {
			t.Errorf("%s: the other folder has %v (%v)", want, entries, err)
		}
	}
}

func TestADamagedArchiveIsRefused(t *testing.T) {
	for _, content := range []string{"\x1f\x8bnonsense", "nonsense", ""} {
		path := filepath.Join(t.TempDir(), "archive")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (Copy{Archive: path, Source: "app", Destination: t.TempDir() + "/a"}).Run(); err == nil {
			t.Errorf("%q was accepted", content)
		}
	}
}

func TestTheCommandFindsOwnersAndHomes(t *testing.T) {
	archive := pack(t, false, project...)
	root := t.TempDir()
	args := []string{"--archive", archive, "--source", "app/run", "--owner", "nobody:daemon", "--mode", "4755", "--destination", root + "/run"}
	if err := Run(args); err != nil {
		t.Fatal(err)
	}
	if got := modeOf(t, root+"/run"); got != fs.ModeSetuid|0o755 {
		t.Errorf("the file has the mode %v", got)
	}
	if got := ownerOf(t, root+"/run"); got != [2]uint32{65534, 1} {
		t.Errorf("the file belongs to %v", got)
	}
	for _, wrong := range [][]string{
		{}, {"--archive", archive, "--owner", "root", "--destination", "relative"},
		{"--archive", archive, "--owner", "no-such-user", "--destination", "/x"},
		{"--archive", archive, "--owner", "root:no-such-group", "--destination", "/x"},
		{"--archive", archive, "--owner", "root", "--home-of", "no-such-user", "--destination", "x"},
		{"--archive", archive, "--owner", "root", "--destination", root + "/x", "--mode", "9"},
	} {
		if err := Run(wrong); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
}
