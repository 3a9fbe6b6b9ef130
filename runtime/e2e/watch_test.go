package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// change is the short form of a FilesystemEvent message.
type change struct {
	Name, Type string
	Entry      *entry
}

func (c change) String() string {
	text := strings.TrimPrefix(c.Type, "EVENT_TYPE_") + " " + c.Name
	if c.Entry != nil {
		text += " (" + strings.TrimPrefix(c.Entry.Type, "FILE_TYPE_") + ")"
	}
	return text
}

// watcher is an open WatchDir stream.
type watcher struct {
	*stream
}

func watchDir(d *daemon, message string) watcher {
	d.t.Helper()
	w := watcher{d.open(fsys+"WatchDir", message, nil)}
	expect(d.t, "first message", w.message(), `{"start":{}}`)
	return w
}

// until reads changes up to the given one and returns them in one line.
func (w watcher) until(last string) string {
	w.t.Helper()
	var seen []string
	for len(seen) == 0 || seen[len(seen)-1] != last {
		var got struct{ Filesystem change }
		if err := json.Unmarshal([]byte(w.message()), &got); err != nil {
			w.t.Fatal(err)
		}
		seen = append(seen, got.Filesystem.String())
	}
	return strings.Join(seen, ", ")
}

func TestAWatchReportsChangesInOrder(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	_ = os.Mkdir(dir+"/inner", 0o755)
	w := watchDir(d, `{"path":"`+dir+`"}`)
	_ = os.WriteFile(dir+"/a", []byte("x"), 0o600)
	expect(t, "a new file", w.until("WRITE a"), "CREATE a, WRITE a")
	_ = os.Chmod(dir+"/a", 0o644)
	expect(t, "a new mode", w.until("CHMOD a"), "CHMOD a")
	_ = os.Rename(dir+"/a", dir+"/b")
	expect(t, "a new name", w.until("CREATE b"), "RENAME a, CREATE b")
	_ = os.WriteFile(dir+"/inner/unseen", nil, 0o600)
	_ = os.Remove(dir + "/b")
	expect(t, "a removal, without events of deeper levels", w.until("REMOVE b"), "REMOVE b")
}

func TestARecursiveWatchFollowsTheTree(t *testing.T) {
	d := serve(t)
	dir, other := t.TempDir(), t.TempDir()
	_ = os.MkdirAll(dir+"/old/deep", 0o755)
	w := watchDir(d, `{"path":"`+dir+`","recursive":true}`)
	touch := func(path string) { _ = os.WriteFile(path, nil, 0o600) }
	touch(dir + "/old/deep/x")
	expect(t, "in an existing directory", w.until("CREATE old/deep/x"), "CREATE old/deep/x")
	_ = os.MkdirAll(dir+"/new/a/b", 0o755)
	expect(t, "in directories created together", w.until("CREATE new/a/b"), "CREATE new, CREATE new/a, CREATE new/a/b")
	touch(dir + "/new/a/b/y")
	expect(t, "in a directory created later", w.until("CREATE new/a/b/y"), "CREATE new/a/b/y")
	_ = os.Rename(dir+"/new/a", dir+"/moved")
	expect(t, "a directory moved within", w.until("CREATE moved"), "RENAME new/a, CREATE moved")
	touch(dir + "/moved/b/z")
	expect(t, "in a directory that was moved", w.until("CREATE moved/b/z"), "CREATE moved/b/z")
	_ = os.Rename(dir+"/moved", other+"/out")
	expect(t, "a directory moved out", w.until("RENAME moved"), "RENAME moved")
	touch(other + "/out/b/unseen")
	_ = os.Rename(other+"/out", dir+"/back")
	expect(t, "no events while it is outside", w.until("CREATE back"), "CREATE back")
	touch(dir + "/back/b/seen")
	expect(t, "in a directory that moved in", w.until("CREATE back/b/seen"), "CREATE back/b/seen")
	_ = os.RemoveAll(dir + "/old")
	expect(t, "a tree removed", w.until("REMOVE old"), "REMOVE old/deep/x, REMOVE old/deep, REMOVE old")
}

func TestWatchersOfOneDirectoryAreIndependent(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	_ = os.Mkdir(dir+"/sub", 0o755)
	_ = os.Symlink(dir+"/sub", dir+"/link")
	whole := watchDir(d, `{"path":"`+dir+`","recursive":true}`)
	part := watchDir(d, `{"path":"`+dir+`/sub"}`)
	linked := watchDir(d, `{"path":"`+dir+`/link","includeEntry":true}`)
	part.close()
	_ = os.WriteFile(dir+"/sub/x", nil, 0o600)
	expect(t, "the whole", whole.until("CREATE sub/x"), "CREATE sub/x")
	expect(t, "by the link", linked.until("CREATE x (FILE)"), "CREATE x (FILE)")
	whole.close()
	linked.close()
	eventually(t, "the inotify instance is closed with the last watch", func() bool { return inotifies(t, d) == 0 })
}

// inotifies counts the inotify instances of the daemon.
func inotifies(t *testing.T, d *daemon) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, each := range entries {
		if target, _ := os.Readlink(dir + "/" + each.Name()); strings.Contains(target, "inotify") {
			count++
		}
	}
	return count
}

func TestEventsIncludeTheEntryOnRequest(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	w := watchDir(d, `{"path":"`+dir+`","includeEntry":true}`)
	_ = os.Mkdir(dir+"/made", 0o755)
	expect(t, "a directory", w.until("CREATE made (DIRECTORY)"), "CREATE made (DIRECTORY)")
	_ = os.Chmod(dir+"/made", 0o700)
	expect(t, "a mode", w.until("CHMOD made (DIRECTORY)"), "CHMOD made (DIRECTORY)")
	_ = os.Remove(dir + "/made")
	expect(t, "a removal", w.until("REMOVE made"), "REMOVE made")
}

func TestAPolledWatcherKeepsChangesUntilTheyAreFetched(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	var made struct{ WatcherId string }
	if err := json.Unmarshal([]byte(d.must(fsys+"CreateWatcher", `{"path":"`+dir+`","recursive":true}`)), &made); err != nil {
		t.Fatal(err)
	}
	id := `{"watcherId":"` + made.WatcherId + `"}`
	expect(t, "before", d.must(fsys+"GetWatcherEvents", id), "{}")
	_ = os.WriteFile(dir+"/a", []byte("x"), 0o600)
	var seen []string
	eventually(t, "both changes are fetched", func() bool {
		var got struct{ Events []change }
		if err := json.Unmarshal([]byte(d.must(fsys+"GetWatcherEvents", id)), &got); err != nil {
			t.Fatal(err)
		}
		for _, each := range got.Events {
			seen = append(seen, each.String())
		}
		return len(seen) >= 2
	})
	expect(t, "changes", strings.Join(seen, ", "), "CREATE a, WRITE a")
	expect(t, "fetched changes are not returned again", d.must(fsys+"GetWatcherEvents", id), "{}")
	expect(t, "removal", d.must(fsys+"RemoveWatcher", id), "{}")
	expect(t, "after the removal", strconv.Itoa(d.unary(fsys+"GetWatcherEvents", id, nil).status), "404")
	expect(t, "instances", strconv.Itoa(inotifies(t, d)), "0")
}

func TestAWatcherWithoutPollsHasABoundedQueue(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	var made struct{ WatcherId string }
	_ = json.Unmarshal([]byte(d.must(fsys+"CreateWatcher", `{"path":"`+dir+`"}`)), &made)
	d.run(`cd ` + dir + ` && for i in $(seq 20000); do : > f$((i % 10)); done`)
	id := `{"watcherId":"` + made.WatcherId + `"}`
	eventually(t, "the queue overflowed", func() bool {
		got := d.unary(fsys+"GetWatcherEvents", id, nil)
		return got.status == 429 && strings.Contains(got.body, `"resource_exhausted"`)
	})
	expect(t, "the error is permanent", strconv.Itoa(d.unary(fsys+"GetWatcherEvents", id, nil).status), "429")
}
