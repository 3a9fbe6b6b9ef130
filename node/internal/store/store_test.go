package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	oneUID   = "0f8fad5b-d9cb-469f-a165-70867728950e"
	otherUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
)

var one = Key{Namespace: "team", UID: oneUID}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func begin(t *testing.T, s *Store, key Key) *Draft {
	t.Helper()
	d, err := s.Begin(key, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// finish saves a snapshot of one file.
func finish(t *testing.T, s *Store, key Key, content string) Manifest {
	t.Helper()
	d := begin(t, s, key)
	write(t, d.Path(), "pages.img", content)
	m, err := d.Finish(t.Context(), Manifest{Source: Source{SandboxName: "analyst"}, Mode: "Snapshot", SavedAt: time.Unix(1, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFinishedSnapshotIsThereForTheNextAgent(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	want := finish(t, s, one, "memory")
	s.Close()
	got, err := open(t, root).Verify(t.Context(), one)
	if err != nil || got.Source != want.Source || !slices.Equal(got.Files, want.Files) || got.Bytes != 6 || !got.SavedAt.Equal(want.SavedAt) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestUnfinishedSnapshotDoesNotExist(t *testing.T) {
	s := open(t, t.TempDir())
	d := begin(t, s, one)
	write(t, d.Path(), "pages.img", "memory")
	if _, err := s.Get(one); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
	if err := d.Abandon(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.path, one.Namespace)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFolderWithoutManifestDoesNotExist(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	if err := os.Remove(filepath.Join(s.Path(one), manifestName)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(one); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
	if found, damaged := s.List(); len(found)+len(damaged) != 0 {
		t.Errorf("listed %v, %v", found, damaged)
	}
}

func TestOpenRemovesWhatDeadSavesAndDeletionsLeft(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	finish(t, s, one, "memory")
	d := begin(t, s, Key{"team", otherUID})
	write(t, d.Path(), "pages.img", "memory")
	if err := os.Mkdir(filepath.Join(root, "team", deletingPrefix+otherUID), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Close()
	open(t, root)
	left, err := os.ReadDir(filepath.Join(root, "team"))
	if err != nil || len(left) != 1 || left[0].Name() != oneUID {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestSecondAgentIsRefused(t *testing.T) {
	root := t.TempDir()
	open(t, root)
	if _, err := Open(root, Options{}); !errors.Is(err, ErrOwned) {
		t.Errorf("got %v", err)
	}
}

func TestDamageIsNoticed(t *testing.T) {
	rows := map[string]struct {
		damage func(folder string) error
		// byGet: noticed without reading the content.
		byGet bool
		words string
	}{
		"a shorter file": {func(f string) error { return os.Truncate(filepath.Join(f, "pages.img"), 3) }, true, "3 bytes instead of 6"},
		"a missing file": {func(f string) error { return os.Remove(filepath.Join(f, "pages.img")) }, true, "pages.img"},
		"another content": {func(f string) error {
			return os.WriteFile(filepath.Join(f, "pages.img"), []byte("memorY"), 0o600)
		}, false, "another checksum"},
		"a link instead of a file": {func(f string) error {
			return errors.Join(os.Remove(filepath.Join(f, "pages.img")), os.Symlink("/etc/hosts", filepath.Join(f, "pages.img")))
		}, true, "not a plain file"},
		"a manifest that is no JSON":        {replaceManifest("{", ""), true, "cannot be read"},
		"a manifest of a later version":     {replaceManifest(`"version": 1`, `"version": 2`), true, "version 2"},
		"the manifest of another snapshot":  {replaceManifest(oneUID, otherUID), true, "that of team/" + otherUID},
		"the manifest of another namespace": {replaceManifest(`"namespace": "team"`, `"namespace": "rival"`), true, "that of rival/"},
		"a manifest that names a path":      {replaceManifest("pages.img", "../../secret"), true, "../../secret"},
		"a manifest that names itself":      {replaceManifest("pages.img", manifestName), true, manifestName},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			finish(t, s, one, "memory")
			if err := row.damage(s.Path(one)); err != nil {
				t.Fatal(err)
			}
			_, byGet := s.Get(one)
			_, err := s.Verify(t.Context(), one)
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), row.words) {
				t.Errorf("got %v", err)
			}
			if (byGet != nil) != row.byGet {
				t.Errorf("without reading the content: %v", byGet)
			}
		})
	}
}

// replaceManifest changes the first place in the manifest.
func replaceManifest(from, to string) func(string) error {
	return func(folder string) error {
		path := filepath.Join(folder, manifestName)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600)
	}
}

func TestListAndUsageKeepNamespacesApart(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	finish(t, s, Key{"team", otherUID}, "more")
	finish(t, s, Key{"rival", otherUID}, "memory of a rival")
	begin(t, s, Key{"team", "7c9e6679-7425-40de-944b-000000000000"})
	if found, damaged := s.List(); len(found) != 3 || len(damaged) != 0 {
		t.Errorf("listed %v, %v", found, damaged)
	}
	for namespace, want := range map[string]int64{"team": 10, "rival": 17, "unknown": 0} {
		if got, err := s.Usage(namespace); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", namespace, got, err, want)
		}
	}
}

func TestDeleteRemovesOneSnapshotAndMayRunTwice(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	finish(t, s, Key{"team", otherUID}, "more")
	for range 2 {
		if err := s.Delete(one); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Get(one); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Verify(t.Context(), Key{"team", otherUID}); err != nil {
		t.Error(err)
	}
	finish(t, s, one, "again")
}

func TestHostileNamesReachNoFile(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "kept", "")
	s := open(t, filepath.Join(outside, "store"))
	for _, key := range []Key{
		{"..", oneUID}, {"team", ".."}, {"team/../..", oneUID}, {"", oneUID}, {"team", ""}, {"team", "../../" + oneUID},
		{"/", oneUID}, {"team", oneUID + "/.."}, {".intents", oneUID}, {"team", remainsPrefix + oneUID},
	} {
		_, byBegin := s.Begin(key, 0)
		_, byGet := s.Get(key)
		_, byVerify := s.Verify(t.Context(), key)
		for act, err := range map[string]error{"begin": byBegin, "get": byGet, "verify": byVerify, "delete": s.Delete(key)} {
			if err == nil || errors.Is(err, ErrAbsent) {
				t.Errorf("%s of %+v: got %v", act, key, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Error(err)
	}
}

func TestNamespaceThatIsALinkLeadsNowhere(t *testing.T) {
	outside := t.TempDir()
	s := open(t, t.TempDir())
	if err := os.Symlink(outside, filepath.Join(s.path, "team")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(one, 0); err == nil {
		t.Error("the draft was made outside of the store")
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("outside: %v", left)
	}
}

func TestFinishRefusesWhatIsNoPlainFile(t *testing.T) {
	rows := map[string]func(folder string) error{
		"a link":     func(f string) error { return os.Symlink("/etc/hosts", filepath.Join(f, "pages.img")) },
		"a folder":   func(f string) error { return os.Mkdir(filepath.Join(f, "pages.img"), 0o700) },
		"a pipe":     func(f string) error { return syscall.Mkfifo(filepath.Join(f, "pages.img"), 0o600) },
		"no file":    func(string) error { return nil },
		"a manifest": func(f string) error { return os.WriteFile(filepath.Join(f, manifestName), []byte("{}"), 0o600) },
	}
	for name, leave := range rows {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			d := begin(t, s, one)
			if err := leave(d.Path()); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Finish(t.Context(), Manifest{}); err == nil {
				t.Error("it became a snapshot")
			}
			if _, err := s.Get(one); !errors.Is(err, ErrAbsent) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSecondSaveOfOneNameDoesNotReplaceTheFirst(t *testing.T) {
	s := open(t, t.TempDir())
	late := begin(t, s, one)
	write(t, late.Path(), "pages.img", "later")
	finish(t, s, one, "memory")
	if _, err := late.Finish(t.Context(), Manifest{}); err == nil {
		t.Error("the second one was accepted")
	}
	if m, err := s.Verify(t.Context(), one); err != nil || m.Bytes != 6 {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestSaveIsRefusedBeforeTheDiskIsFull(t *testing.T) {
	root := smallDisk(t, 8<<20)
	s, err := Open(root, Options{KeepFreeBytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	first, err := s.Begin(one, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	var full *NoSpaceError
	if _, err := s.Begin(Key{"team", otherUID}, 4<<20); !errors.As(err, &full) || !strings.Contains(err.Error(), "delete snapshots") {
		t.Errorf("two saves were promised more than there is: %v", err)
	}
	if err := first.Abandon(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(Key{"team", otherUID}, 4<<20); err != nil {
		t.Errorf("the promise outlived its save: %v", err)
	}
}

// smallDisk mounts a file system of the given size.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size="+strconv.Itoa(bytes)); err != nil {
		t.Fatalf("these tests need root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(root, syscall.MNT_DETACH) })
	return root
}

func TestChecksumDependsOnEveryChunkAndTheirOrder(t *testing.T) {
	folder := t.TempDir()
	content := bytes.Repeat([]byte{1}, 2*ChunkBytes+5)
	seen := map[string]string{}
	for name, change := range map[string]func([]byte) []byte{
		"unchanged":    func(b []byte) []byte { return b },
		"first byte":   func(b []byte) []byte { b[0] = 2; return b },
		"second chunk": func(b []byte) []byte { b[ChunkBytes] = 2; return b },
		"last byte":    func(b []byte) []byte { b[len(b)-1] = 2; return b },
		"shorter":      func(b []byte) []byte { return b[:len(b)-1] },
		"one chunk":    func(b []byte) []byte { return b[:ChunkBytes] },
		"empty":        func([]byte) []byte { return nil },
	} {
		path := filepath.Join(folder, "file")
		if err := os.WriteFile(path, change(bytes.Clone(content)), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := file.Stat()
		sum, err := checksum(t.Context(), file, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		if other, known := seen[sum]; known {
			t.Errorf("%s has the checksum of %s", name, other)
		}
		seen[sum] = name
		file.Close()
	}
}
