package save_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

func snapshot() store.Key { return request(save.Hibernate).Snapshot }

func TestCancelledSaveLetsThePodGoOn(t *testing.T) {
	for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
		t.Run(string(mode), func(t *testing.T) {
			n := newNode(t)
			gate := filepath.Join(t.TempDir(), "gate")
			if err := syscall.Mkfifo(gate, 0o600); err != nil {
				t.Fatal(err)
			}
			n.wrap(`if [ $verb = checkpoint ]; then touch "$0.saving"; read line < ` + gate + `; fi`)
			n.startAgent()
			var group sync.WaitGroup
			group.Go(func() {
				if _, err := n.saver.Save(t.Context(), request(mode)); !errors.Is(err, save.ErrCancelled) {
					t.Errorf("got %v", err)
				}
			})
			n.pod.WaitFor("checkpoint", func() bool { _, err := os.Stat(n.runsc.Binary + ".saving"); return err == nil })
			if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
				t.Fatal(err)
			}
			n.expectNothing()
			group.Wait()
		})
	}
}

// gVisor goes on writing when the command that asked for it has ended.
func TestSaveCancelledWhileGVisorWritesLetsThePodGoOn(t *testing.T) {
	n := newNode(t)
	n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/dev/shm/large bs=1M count=64")
	whole := n.runsc
	n.wrap(`if [ $verb = checkpoint ]; then (exec ` + whole.Binary + ` "$@") & while [ ! -s ` + n.folder + `/team/.saving-*/pages.img ]; do :; done; kill -9 $!; touch "$0.saving"; exec sleep 1000; fi`)
	n.startAgent()
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err == nil {
			t.Error("it was saved")
		}
	})
	n.pod.WaitFor("write", func() bool { _, err := os.Stat(n.runsc.Binary + ".saving"); return err == nil })
	if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	n.expectNothing()
	n.runsc = whole
	n.store.Close()
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Errorf("the next save: %v", err)
	}
}

func TestDeletedHibernationLetsItsPodGoOn(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
			t.Fatal(err)
		}
		n.expectNothing()
	}
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Errorf("the next save: %v", err)
	}
}

func TestSourceOfASpentHibernationStandsStill(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	// Another Pod began while the snapshot was being deleted.
	n.isSpent = func(key store.Key) bool { _, err := n.store.Get(key); return errors.Is(err, store.ErrAbsent) }
	if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
		t.Fatal(err)
	}
	if !n.pod.StandsStill() {
		t.Error("it goes on, as a Pod that was restored from it does")
	}
	n.store.Close()
	n.startAgent()
	if !n.pod.StandsStill() {
		t.Error("the next agent lets it go on")
	}
}

func TestSourceOfASpentHibernationStandsStillAfterADeath(t *testing.T) {
	n := newNode(t)
	if err := n.trySaving(save.Hibernate); err != nil {
		t.Fatal(err)
	}
	whole := n.runsc
	n.wrap(`if [ $verb = state ]; then ` + killAgent + `; exit 1; fi`)
	n.expectKilled(n.runAgent(map[string]any{"Request": request(save.Hibernate), "Deletes": true}))
	n.runsc = whole
	n.isSpent = func(store.Key) bool { return true }
	n.startAgent()
	if left := n.remains(); !n.pod.StandsStill() || len(left) != 0 {
		t.Errorf("the Pod goes on: %t; left: %v", !n.pod.StandsStill(), left)
	}
}

func TestHibernationIsDeletedAfterTheEndOfItsPod(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	n.pod.Delete()
	if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
		t.Fatal(err)
	}
	if left := n.remains(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDeathWhileAHibernationIsDeletedLeavesItOrLetsThePodGoOn(t *testing.T) {
	for name, script := range map[string]string{
		"before it found the Pod": `if [ $verb = state ]; then ` + killAgent + `; exit 1; fi`,
		"before the resume":       `if [ $verb = resume ]; then ` + killAgent + `; exit 1; fi`,
		"after the resume":        `if [ $verb = resume ]; then run "$@"; ` + killAgent + `; exit 0; fi`,
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if err := n.trySaving(save.Hibernate); err != nil {
				t.Fatal(err)
			}
			whole := n.runsc
			n.wrap(script)
			n.expectKilled(n.runAgent(map[string]any{"Request": request(save.Hibernate), "Deletes": true}))
			n.runsc = whole
			n.startAgent()
			n.expectNothing()
		})
	}
	// A kill before the snapshot is gone: the intent is there already.
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	n.store.Close()
	text := `{"snapshot":{"namespace":"team","snapshotUid":"` + snapshotUID + `"},"source":{"sandboxName":"analyst","sandboxUid":"` + otherUID + `","podName":"analyst-1","podUid":"` + podUID + `"},"mode":"Hibernate"}`
	if err := os.WriteFile(filepath.Join(n.folder, ".intents", podUID+".json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.startAgent()
	if _, err := n.store.Get(snapshot()); err != nil || !n.pod.StandsStill() {
		t.Errorf("the snapshot: %v; the Pod goes on: %t", err, !n.pod.StandsStill())
	}
}

// The shim kills the sandbox of a paused Pod that is deleted. Until containerd deletes it, gVisor has it as paused.
func TestHibernationIsDeletedWhileItsPodEnds(t *testing.T) {
	n := newNode(t)
	if err := n.trySaving(save.Hibernate); err != nil {
		t.Fatal(err)
	}
	tried := filepath.Join(t.TempDir(), "tried")
	n.wrap(`if [ $verb = resume ]; then touch ` + tried + `; echo "connection refused" >&2; exit 1; fi`)
	n.startAgent()
	var group sync.WaitGroup
	group.Go(func() {
		if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
			t.Error(err)
		}
	})
	n.pod.WaitFor("resume", func() bool { _, err := os.Stat(tried); return err == nil })
	n.pod.Delete()
	group.Wait()
	if left := n.remains(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDeletionThatCannotResumeKeepsTheIntent(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	whole := n.runsc
	n.wrap(`if [ $verb = resume ]; then echo "not now" >&2; exit 1; fi`)
	n.store.Close()
	n.startAgent()
	var stuck *save.StuckError
	if err := n.saver.Delete(t.Context(), snapshot()); !errors.As(err, &stuck) {
		t.Errorf("got %v", err)
	}
	n.runsc = whole
	n.store.Close()
	n.startAgent()
	n.expectNothing()
}

func TestHostileDeletionTouchesNothing(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	for _, key := range []store.Key{{Namespace: "..", UID: snapshotUID}, {Namespace: "team", UID: ".."}, {}} {
		if err := n.saver.Delete(context.Background(), key); err == nil {
			t.Errorf("%+v was deleted", key)
		}
	}
}
