package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/users"
)

// rounds is how often each operation meets a process that swaps directories for links.
const rounds = 150

// meanwhile repeats something with the rights of `nobody` until the function that it returns is called.
func meanwhile(t *testing.T, do func()) (stop func()) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan error)
	nobody := nobodyUser(t)
	go func() {
		ended <- users.As(nobody, func() error {
			for {
				select {
				case <-end:
					return nil
				default:
					do()
				}
			}
		})
	}()
	return func() {
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// exchange swaps two names.
func exchange(one, other string) func() {
	return func() { _ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE) }
}

// grow makes a directory of `nobody` with the same names as the private one, but for the secrets.
func (p prison) grow(path string) {
	p.t.Helper()
	for _, dir := range []string{path, path + "/deep"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			p.t.Fatal(err)
		}
		p.give(dir)
	}
}

func (p prison) link(path string) {
	p.t.Helper()
	if err := os.Symlink(p.private, path); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Lchown(path, int(nobodyUser(p.t).UID), -1); err != nil {
		p.t.Fatal(err)
	}
}

func TestADirectoryThatIsSwappedForALinkShowsNothing(t *testing.T) {
	p := lockUp(t)
	p.grow(p.home + "/real")
	p.link(p.home + "/trap")
	stop := meanwhile(t, exchange(p.home+"/real", p.home+"/trap"))
	defer stop()
	for range rounds {
		for _, message := range []string{`{"path":"%s/real","depth":3}`, `{"path":"%s/real/deep"}`, `{"path":"%s","depth":3}`} {
			got := p.call("ListDir", fmt.Sprintf(message, p.home))
			if strings.Contains(got.body, `/`+secretName+`","size"`) || strings.Contains(got.body, `"name":"`+secretName) {
				t.Fatalf("a listing shows names of root: %s", got.body)
			}
		}
		for _, way := range []string{"Stat", "Move", "compose"} {
			if got := p.statusOf(way, p.home+"/real/deep/"+secretName); got.status < 400 {
				t.Fatalf("%s of a name of root: answered %d %s", way, got.status, got.body)
			}
		}
	}
	p.checkPrivate("after the last round")
}

func TestADirectoryThatIsSwappedForALinkIsNotWatched(t *testing.T) {
	p := lockUp(t)
	p.grow(p.home + "/real")
	p.link(p.home + "/trap")
	defer meanwhile(t, exchange(p.home+"/real", p.home+"/trap"))()
	for range rounds {
		for _, message := range []string{`{"path":"%s/real"}`, `{"path":"%s/real/deep"}`, `{"path":"%s","recursive":true}`} {
			p.watchOnce(fmt.Sprintf(message, p.home))
		}
	}
}

// watchOnce changes files of root while a watcher exists.
func (p prison) watchOnce(message string) {
	p.t.Helper()
	got := p.call("CreateWatcher", message)
	var made struct{ WatcherId string }
	if got.status != 200 {
		return
	}
	if err := json.Unmarshal([]byte(got.body), &made); err != nil {
		p.t.Fatal(err)
	}
	for _, each := range p.hidden() {
		_ = os.Chtimes(each, time.Time{}, time.Unix(1, 0))
	}
	id := `{"watcherId":"` + made.WatcherId + `"}`
	if seen := p.call("GetWatcherEvents", id); strings.Contains(seen.body, secretName) {
		p.t.Fatalf("a watch of %s reports names of root: %s", message, seen.body)
	}
	p.call("RemoveWatcher", id)
}

// mountOther mounts another file system, whose root belongs to `nobody`.
func (p prison) mountOther() string {
	p.t.Helper()
	to := filepath.Dir(p.home) + "/other"
	_ = os.Mkdir(to, 0o755)
	if err := syscall.Mount("tmpfs", to, "tmpfs", 0, "size=16m,mode=755"); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = syscall.Unmount(to, syscall.MNT_DETACH) })
	p.give(to)
	return to
}

// checkMoved fails if something of root is in a tree.
func (p prison) checkMoved(tree string) {
	p.t.Helper()
	_ = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if content, _ := os.ReadFile(path); string(content) == secret || entry.Name() == secretName {
			p.t.Fatalf("something of root is in %s", path)
		}
		return nil
	})
}

func (p prison) move(from, to string) answer {
	return p.call("Move", fmt.Sprintf(`{"source":%q,"destination":%q}`, from, to))
}

func TestAMoveToAnotherFileSystemTakesNothingWhileItsSourceIsSwapped(t *testing.T) {
	p := lockUp(t)
	other := p.mountOther()
	for round := range rounds {
		tree := fmt.Sprintf("%s/tree%d", p.home, round)
		p.grow(tree)
		p.grow(tree + "/sub")
		p.link(tree + "/trap")
		stop := meanwhile(t, exchange(tree+"/sub", tree+"/trap"))
		p.move(tree, fmt.Sprintf("%s/%d", other, round))
		stop()
		p.checkMoved(other)
		p.checkPrivate(fmt.Sprintf("round %d", round))
		_ = os.RemoveAll(tree)
	}
}

func TestAMoveToAnotherFileSystemWritesNothingWhileItsDestinationIsSwapped(t *testing.T) {
	p := lockUp(t)
	other := p.mountOther()
	p.grow(p.home + "/evil")
	p.link(p.home + "/evil/copy")
	stolen := 0
	// The copy is made in a folder beside the destination, which belongs to `nobody`.
	defer meanwhile(t, func() {
		made, _ := filepath.Glob(other + "/.move-*")
		for _, each := range made {
			stolen++
			if os.Rename(each, fmt.Sprintf("%s/stolen-%d", other, stolen)) == nil {
				_ = os.Symlink(p.home+"/evil", each)
			}
		}
	})()
	for round := range rounds / 10 {
		tree := fmt.Sprintf("%s/tree%d", p.home, round)
		p.grow(tree)
		for i := range 300 {
			_ = os.WriteFile(fmt.Sprintf("%s/f%d", tree, i), []byte("planted"), 0o666)
			p.give(fmt.Sprintf("%s/f%d", tree, i))
		}
		p.move(tree, fmt.Sprintf("%s/%d", other, round))
		p.checkPrivate(fmt.Sprintf("round %d", round))
		_ = os.RemoveAll(tree)
	}
}
