package save_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sandlot.dev/node/internal/save"
)

// follow has the node write down flushes and what it asks of gVisor.
func (n *node) follow() (steps func() []string) {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "steps")
	n.wrap(`case $verb in pause|checkpoint|resume) echo $verb >> ` + path + ` ;; esac`)
	n.flushLimit = patience
	n.flush = func() {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString("flush\n")
		}
		if err != nil {
			n.t.Error(err)
		}
		_ = file.Close()
	}
	return func() []string {
		text, _ := os.ReadFile(path)
		return strings.Fields(string(text))
	}
}

func TestDisksAreFlushedBeforeThePodStandsStill(t *testing.T) {
	rows := map[string]struct {
		request save.Request
		want    []string
	}{
		"a snapshot":                        {request(save.Snapshot), []string{"flush", "checkpoint"}},
		"a snapshot with copies of disks":   {held(long), []string{"flush", "pause", "checkpoint", "flush", "resume"}},
		"a hibernation, whose Pod is to go": {request(save.Hibernate), []string{"pause", "checkpoint"}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			steps := n.follow()
			n.startAgent()
			if _, err := n.saver.Save(t.Context(), row.request); err != nil {
				t.Fatal(err)
			}
			n.saver.EndHolds()
			n.saver.Wait()
			if got := steps(); !slices.Equal(got, row.want) {
				t.Errorf("got %v; want %v", got, row.want)
			}
		})
	}
}

func TestDiskThatHangsKeepsNoSnapshotWaiting(t *testing.T) {
	n := newNode(t)
	hangs := make(chan struct{})
	defer close(hangs)
	var flushes atomic.Int32
	n.flush = func() { flushes.Add(1); <-hangs }
	n.flushLimit = time.Millisecond
	n.startAgent()
	for range 2 {
		if _, err := n.saver.Save(t.Context(), request(save.Snapshot)); err != nil {
			t.Fatal(err)
		}
		if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
			t.Fatal(err)
		}
	}
	if flushes.Load() != 1 {
		t.Errorf("%d flushes hang", flushes.Load())
	}
}
