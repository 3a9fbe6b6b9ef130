package store_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"
	"sandlot.dev/volumes/internal/store"
)

const (
	ours   = "11111111-1111-4111-8111-111111111111"
	theirs = "22222222-2222-4222-8222-222222222222"
)

var forced = store.Wanted{Force: true}

func TestMain(m *testing.M) {
	unix.Umask(0)
	os.Exit(m.Run())
}

// open returns a store with two volumes, and the directory that sandboxes would see.
func open(t *testing.T) (*store.Store, string) {
	t.Helper()
	root := t.TempDir()
	opened, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	for _, id := range []string{ours, theirs} {
		if err := opened.Make(id); err != nil {
			t.Fatal(err)
		}
	}
	return opened, root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func status(err error) int {
	var refusal *store.Refusal
	if errors.As(err, &refusal) {
		return refusal.Status
	}
	return 0
}

func wantStatus(t *testing.T, err error, want int) {
	t.Helper()
	if got := status(err); got != want {
		t.Errorf("status %d, want %d: %v", got, want, err)
	}
}

func readAll(t *testing.T, s *store.Store, path string) string {
	t.Helper()
	file, size, err := s.Read(ours, path)
	must(t, err)
	defer file.Close()
	content, err := io.ReadAll(file)
	must(t, err)
	if int64(len(content)) != size {
		t.Errorf("%d bytes, promised %d", len(content), size)
	}
	return string(content)
}

func write(s *store.Store, path, content string, wanted store.Wanted) error {
	_, err := s.Write(ours, path, wanted, strings.NewReader(content))
	return err
}

func TestFilesAreWrittenWholeAndRead(t *testing.T) {
	s, root := open(t)
	stat, err := s.Write(ours, "/a.txt", store.Wanted{}, strings.NewReader("content"))
	must(t, err)
	if stat.Type != "file" || stat.Path != "/a.txt" || stat.Name != "a.txt" || stat.Size != 7 || stat.Mode != 0o666 {
		t.Errorf("unexpected %+v", stat)
	}
	if got := readAll(t, s, "a.txt"); got != "content" {
		t.Errorf("read %q", got)
	}
	wantStatus(t, write(s, "/a.txt", "other", store.Wanted{}), http.StatusConflict)
	must(t, write(s, "/a.txt", "other", forced))
	if got := readAll(t, s, "/x/.././a.txt"); got != "other" {
		t.Errorf("read %q", got)
	}
	wantStatus(t, write(s, "/no/parent", "x", store.Wanted{}), http.StatusNotFound)
	must(t, write(s, "/no/parent", "", forced))
	mode := uint32(0o640)
	stat, err = s.Write(ours, "/mode", store.Wanted{Mode: &mode}, strings.NewReader(""))
	must(t, err)
	if stat.Mode != mode {
		t.Errorf("mode %o", stat.Mode)
	}
	left, err := os.ReadDir(filepath.Join(root, ".uploads"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAnUploadThatEndsEarlyLeavesNothing(t *testing.T) {
	s, root := open(t)
	must(t, write(s, "/kept", "before", store.Wanted{}))
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := s.Write(ours, "/kept", forced, broken); err == nil {
		t.Error("half a file was taken")
	}
	if got := readAll(t, s, "/kept"); got != "before" {
		t.Errorf("read %q", got)
	}
	left, _ := os.ReadDir(filepath.Join(root, ".uploads"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAProcessThatEndedInAnUploadLeavesNothing(t *testing.T) {
	_, root := open(t)
	must(t, os.WriteFile(filepath.Join(root, ".uploads", "half"), []byte("x"), 0o600))
	again, err := store.Open(root)
	must(t, err)
	defer again.Close()
	left, _ := os.ReadDir(filepath.Join(root, ".uploads"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNoPathAndNoLinkLeavesTheVolume(t *testing.T) {
	s, root := open(t)
	volume := filepath.Join(root, ours)
	must(t, os.WriteFile(filepath.Join(root, theirs, "secret"), []byte("precious"), 0o666))
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("host"), 0o666))
	for name, target := range map[string]string{
		"neighbour": "../" + theirs, "secret": "../" + theirs + "/secret", "absolute": outside, "root": "/",
		"volume": root, "uploads": "../.uploads", "loop": "loop",
	} {
		must(t, os.Symlink(target, filepath.Join(volume, name)))
	}
	for _, path := range []string{
		"/secret", "/neighbour/secret", "/absolute", "/root/etc/passwd", "/volume/" + theirs + "/secret", "/loop",
		"/../" + theirs + "/secret", "../../../etc/passwd", "/neighbour/../../" + theirs + "/secret",
	} {
		if file, _, err := s.Read(ours, path); err == nil {
			t.Errorf("read %s", path)
			_ = file.Close()
		}
		if stat, err := s.Stat(ours, path); err == nil && stat.Type != "symlink" {
			t.Errorf("described %s: %+v", path, stat)
		}
	}
	for _, path := range []string{"/neighbour/new", "/uploads/new", "/volume/new"} {
		if err := write(s, path, "x", forced); err == nil {
			t.Errorf("wrote %s", path)
		}
		if _, err := s.MakeDirectory(ours, path, forced); err == nil {
			t.Errorf("made %s", path)
		}
		if err := s.Delete(ours, path); err == nil {
			t.Errorf("deleted %s", path)
		}
	}
	if _, err := s.List(ours, "/neighbour", 1); err == nil {
		t.Error("listed the neighbour")
	}
	mode := uint32(0)
	if _, err := s.Change(ours, "/secret", store.Wanted{Mode: &mode}); err == nil {
		t.Error("changed the mode of a file outside")
	}
	must(t, s.Delete(ours, "/neighbour"))
	// A file replaces a link, and not what it leads to.
	must(t, write(s, "/secret", "mine", forced))
	content, err := os.ReadFile(filepath.Join(root, theirs, "secret"))
	if err != nil || string(content) != "precious" {
		t.Errorf("the neighbour has %q: %v", content, err)
	}
}

func TestALinkInsideTheVolumeIsFollowedAndShown(t *testing.T) {
	s, root := open(t)
	must(t, write(s, "/dir/file", "content", forced))
	must(t, os.Symlink("dir/file", filepath.Join(root, ours, "link")))
	stat, err := s.Stat(ours, "/link")
	must(t, err)
	if stat.Type != "symlink" || stat.Target == nil || *stat.Target != "dir/file" {
		t.Errorf("unexpected %+v", stat)
	}
	if got := readAll(t, s, "/link"); got != "content" {
		t.Errorf("read %q", got)
	}
}

// A sandbox swaps a directory for a link to its neighbour, again and again, while clients write and remove.
func TestALinkThatAppearsMeanwhileIsOfNoUse(t *testing.T) {
	s, root := open(t)
	volume, neighbour := filepath.Join(root, ours), filepath.Join(root, theirs)
	must(t, os.WriteFile(filepath.Join(neighbour, "kept"), []byte("precious"), 0o666))
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Mkdir(filepath.Join(volume, "d"), 0o777)
			_ = os.Rename(filepath.Join(volume, "d"), filepath.Join(volume, "away"))
			_ = os.Symlink("../"+theirs, filepath.Join(volume, "d"))
			_ = os.Remove(filepath.Join(volume, "d"))
			_ = os.RemoveAll(filepath.Join(volume, "away"))
		}
	})
	for range 2_000 {
		_ = write(s, "/d/new", "x", forced)
		_ = s.Delete(ours, "/d/kept")
		if file, _, err := s.Read(ours, "/d/kept"); err == nil {
			t.Error("read the neighbour")
			_ = file.Close()
		}
		_, _ = s.MakeDirectory(ours, "/d/made", store.Wanted{})
	}
	close(stop)
	swapping.Wait()
	left, err := os.ReadDir(neighbour)
	if err != nil || len(left) != 1 || left[0].Name() != "kept" {
		t.Errorf("the neighbour has %v: %v", left, err)
	}
}

func TestWhatIsNoFileIsNotRead(t *testing.T) {
	s, root := open(t)
	must(t, syscall.Mkfifo(filepath.Join(root, ours, "pipe"), 0o666))
	must(t, write(s, "/dir/file", "x", forced))
	for _, path := range []string{"/pipe", "/dir", "/"} {
		_, _, err := s.Read(ours, path)
		wantStatus(t, err, http.StatusBadRequest)
	}
	stat, err := s.Stat(ours, "/pipe")
	if err != nil || stat.Type != "unknown" {
		t.Errorf("unexpected %+v %v", stat, err)
	}
	for _, path := range []string{"/pipe/x", "/dir/file/x"} {
		wantStatus(t, write(s, path, "x", store.Wanted{}), http.StatusBadRequest)
	}
	wantStatus(t, write(s, "/dir", "x", forced), http.StatusBadRequest)
	wantStatus(t, write(s, "/", "x", forced), http.StatusBadRequest)
}

func TestPathsThatCannotBe(t *testing.T) {
	s, _ := open(t)
	for path, want := range map[string]int{
		"": http.StatusBadRequest, "/a\x00b": http.StatusBadRequest, "/" + strings.Repeat("n", 300): http.StatusBadRequest,
		strings.Repeat("/d", 300): http.StatusBadRequest, strings.Repeat("/", 5_000): http.StatusBadRequest, "/absent": http.StatusNotFound,
	} {
		_, err := s.Stat(ours, path)
		wantStatus(t, err, want)
	}
	for _, id := range []string{"", "..", ".uploads", "../" + theirs, strings.ToUpper(ours) + "x", "33333333-3333-4333-8333-333333333333"} {
		_, err := s.Stat(id, "/")
		wantStatus(t, err, http.StatusNotFound)
	}
}

func TestDirectoriesAreMadeListedAndDeleted(t *testing.T) {
	s, root := open(t)
	_, err := s.MakeDirectory(ours, "/a/b", store.Wanted{})
	wantStatus(t, err, http.StatusNotFound)
	stat, err := s.MakeDirectory(ours, "/a/b", forced)
	must(t, err)
	if stat.Type != "directory" || stat.Mode != 0o777 {
		t.Errorf("unexpected %+v", stat)
	}
	_, err = s.MakeDirectory(ours, "/a", store.Wanted{})
	wantStatus(t, err, http.StatusConflict)
	_, err = s.MakeDirectory(ours, "/a", forced)
	must(t, err)
	_, err = s.MakeDirectory(ours, "/", forced)
	must(t, err)
	must(t, write(s, "/a/file", "x", store.Wanted{}))
	_, err = s.MakeDirectory(ours, "/a/file", forced)
	wantStatus(t, err, http.StatusConflict)
	must(t, write(s, "/a/b/deep", "x", store.Wanted{}))
	must(t, os.Symlink("/", filepath.Join(root, ours, "a", "z")))
	wantList(t, s, 1, "/a")
	wantList(t, s, 10, "/a", "/a/b", "/a/b/deep", "/a/file", "/a/z")
	_, err = s.List(ours, "/a/file", 1)
	wantStatus(t, err, http.StatusBadRequest)
	_, err = s.List(ours, "/absent", 1)
	wantStatus(t, err, http.StatusNotFound)
	for _, depth := range []int{0, 11, -1} {
		_, err = s.List(ours, "/", depth)
		wantStatus(t, err, http.StatusBadRequest)
	}
	wantStatus(t, s.Delete(ours, "/"), http.StatusBadRequest)
	wantStatus(t, s.Delete(ours, "/a/../."), http.StatusBadRequest)
	must(t, s.Delete(ours, "/a"))
	wantStatus(t, s.Delete(ours, "/a"), http.StatusNotFound)
	wantList(t, s, 10)
}

func wantList(t *testing.T, s *store.Store, depth int, want ...string) {
	t.Helper()
	found, err := s.List(ours, "/", depth)
	must(t, err)
	paths := []string{}
	for _, stat := range found {
		paths = append(paths, stat.Path)
	}
	if strings.Join(paths, " ") != strings.Join(want, " ") {
		t.Errorf("listed %v, want %v", paths, want)
	}
}

func TestAListHasABound(t *testing.T) {
	s, root := open(t)
	for index := range 20_001 {
		must(t, os.WriteFile(filepath.Join(root, ours, strconv.Itoa(index)), nil, 0o666))
	}
	_, err := s.List(ours, "/", 1)
	wantStatus(t, err, http.StatusBadRequest)
}

func TestOwnersStayAndModesChange(t *testing.T) {
	s, _ := open(t)
	must(t, write(s, "/file", "x", store.Wanted{}))
	mode, other, own := uint32(0o600), uint32(4_242), uint32(os.Geteuid())
	stat, err := s.Change(ours, "/file", store.Wanted{Mode: &mode, UID: &own})
	must(t, err)
	if stat.Mode != mode {
		t.Errorf("mode %o", stat.Mode)
	}
	for _, wanted := range []store.Wanted{{UID: &other}, {GID: &other}} {
		_, err = s.Change(ours, "/file", wanted)
		wantStatus(t, err, http.StatusBadRequest)
		_, err = s.Write(ours, "/owned", wanted, bytes.NewReader(nil))
		wantStatus(t, err, http.StatusBadRequest)
		_, err = s.MakeDirectory(ours, "/owned", wanted)
		wantStatus(t, err, http.StatusBadRequest)
	}
	tooMuch := uint32(0o4755)
	_, err = s.Change(ours, "/file", store.Wanted{Mode: &tooMuch})
	wantStatus(t, err, http.StatusBadRequest)
}

func TestAVolumeIsRemovedWithAllThatIsInIt(t *testing.T) {
	s, root := open(t)
	must(t, write(s, "/deep/er/file", "x", forced))
	must(t, os.Symlink("../"+theirs, filepath.Join(root, ours, "link")))
	must(t, os.WriteFile(filepath.Join(root, theirs, "kept"), nil, 0o666))
	must(t, s.Remove(ours))
	must(t, s.Remove(ours))
	_, err := s.Stat(ours, "/")
	wantStatus(t, err, http.StatusNotFound)
	if _, err := os.Stat(filepath.Join(root, theirs, "kept")); err != nil {
		t.Error(err)
	}
	left, _ := os.ReadDir(filepath.Join(root, ".removed", ours))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	// A request that comes too late does not make it anew.
	wantStatus(t, s.Make(ours), http.StatusNotFound)
	// A process may have ended between the move and the removal.
	must(t, os.MkdirAll(filepath.Join(root, ".removed", theirs, "half"), 0o777))
	must(t, s.Remove(theirs))
	if _, err := os.Stat(filepath.Join(root, theirs)); !os.IsNotExist(err) {
		t.Error(err)
	}
	for _, id := range []string{".uploads", "../x", ""} {
		wantStatus(t, s.Remove(id), http.StatusNotFound)
	}
}

func TestAFullDiskIsSaidSo(t *testing.T) {
	s, _ := open(t)
	_, err := s.Write(ours, "/big", store.Wanted{}, iotest.ErrReader(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}))
	wantStatus(t, err, http.StatusInsufficientStorage)
}
