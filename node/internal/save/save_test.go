package save_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

func TestSnapshotIsWholeAndThePodGoesOn(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	m, err := n.saver.Save(t.Context(), request(save.Snapshot))
	if err != nil {
		t.Fatal(err)
	}
	n.pod.GoesOn()
	if len(m.Files) != 3 || m.Source != request(save.Snapshot).Source || !slices.Equal(m.Containers, []string{"worker"}) {
		t.Errorf("got %+v", m)
	}
	if _, err := n.store.Verify(t.Context(), m.Key); err != nil {
		t.Error(err)
	}
	if left := n.remains(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestHibernatedPodStandsStillAndGoesOnFromItsSnapshot(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	before := n.pod.Count()
	m, err := n.saver.Save(t.Context(), request(save.Hibernate))
	if err != nil {
		t.Fatal(err)
	}
	if !n.pod.StandsStill() {
		t.Error("the Pod goes on, so its disk no longer agrees with its memory")
	}
	// An agent that starts now must not wake it either.
	n.store.Close()
	n.startAgent()
	if !n.pod.StandsStill() {
		t.Error("the next agent let it go on")
	}
	n.pod.Delete()
	next := n.rt.RestorePod(runsc.PodName{Namespace: "team", Name: "analyst-1", UID: otherUID}, n.store.Path(m.Key))
	next.WaitFor("the count of the source", func() bool { return next.Count() >= before })
	next.GoesOn()
	next.WaitFor("answer of the listener", next.Hears)
}

func TestRepeatedRequestGetsTheFinishedSnapshot(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	first, err := n.saver.Save(t.Context(), request(save.Hibernate))
	if err != nil {
		t.Fatal(err)
	}
	n.pod.Delete()
	again, err := n.saver.Save(t.Context(), request(save.Hibernate))
	if err != nil || !slices.Equal(again.Files, first.Files) {
		t.Errorf("got %+v, %v; before: %+v", again, err, first)
	}
	var conflict *save.ConflictError
	if _, err := n.saver.Save(t.Context(), request(save.Snapshot)); !errors.As(err, &conflict) {
		t.Errorf("in another mode: %v", err)
	}
	other := request(save.Hibernate)
	other.Source.PodUID = otherUID
	if _, err := n.saver.Save(t.Context(), other); !errors.As(err, &conflict) {
		t.Errorf("of another Pod: %v", err)
	}
}

func TestTwoRequestsAtOnceAreOneSaveAndAnotherSnapshotWaits(t *testing.T) {
	n := newNode(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	n.wrap(`if [ $verb = checkpoint ]; then read line < ` + gate + `; fi`)
	n.startAgent()
	var group sync.WaitGroup
	results := make([]store.Manifest, 2)
	for i := range results {
		group.Go(func() {
			m, err := n.saver.Save(t.Context(), request(save.Snapshot))
			if err != nil {
				t.Error(err)
			}
			results[i] = m
		})
	}
	n.pod.WaitFor("a save in progress", func() bool { return n.saver.IsSaving(request(save.Snapshot).Snapshot) })
	second := request(save.Snapshot)
	second.Snapshot.UID = otherUID
	var busy *save.BusyError
	if _, err := n.saver.Save(t.Context(), second); !errors.As(err, &busy) {
		t.Errorf("a second save of the Pod: %v", err)
	}
	otherSource := request(save.Snapshot)
	otherSource.Source.SandboxUID = podUID
	var conflict *save.ConflictError
	if _, err := n.saver.Save(t.Context(), otherSource); !errors.As(err, &conflict) {
		t.Errorf("the same snapshot for another Sandbox: %v", err)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if len(results[0].Files) != 3 || !slices.Equal(results[0].Files, results[1].Files) {
		t.Errorf("got %+v and %+v", results[0], results[1])
	}
}

func TestNodeSavesABoundedNumberOfPods(t *testing.T) {
	n := newNode(t)
	podOf := func(i int) runsc.PodName {
		return runsc.PodName{Namespace: "team", Name: "analyst-1", UID: fmt.Sprintf("%08d-7425-40de-944b-e07fc1f90ae7", i)}
	}
	// Only of a Pod that is there gVisor is asked at all.
	for i := range 2 {
		n.rt.StartPod(podOf(i))
	}
	n.wrap(`if [ $verb = state ]; then sleep 1000; fi`)
	s, err := store.Open(n.folder, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	n.store = s
	saver, err := newSaver(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(i int) error {
		r := request(save.Snapshot)
		r.Source.PodUID = podOf(i).UID
		r.Snapshot.UID = r.Source.PodUID
		given, giveUp := context.WithCancel(t.Context())
		giveUp()
		_, err := saver.Save(given, r)
		return err
	}
	for i := range 2 {
		if err := ask(i); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	var busy *save.BusyError
	if err := ask(2); !errors.As(err, &busy) {
		t.Errorf("the third one: %v", err)
	}
	cancel()
	saver.Wait()
}

func TestPodGoesOnAfterAFailure(t *testing.T) {
	rows := map[string]struct{ script, words string }{
		"of the pause":      {`if [ $verb = pause ]; then echo "no pause" >&2; exit 1; fi`, "no pause"},
		"of the checkpoint": {`if [ $verb = checkpoint ]; then echo "no room" >&2; exit 1; fi`, "no room"},
		"after the pause, without an answer": {
			`if [ $verb = pause ]; then run "$@"; echo "lost" >&2; exit 1; fi`, "lost",
		},
		"of a checkpoint that left no file": {`if [ $verb = checkpoint ]; then exit 0; fi`, "left no file"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.wrap(row.script)
			n.startAgent()
			if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err == nil || !strings.Contains(err.Error(), row.words) {
				t.Errorf("got %v", err)
			}
			n.expectNothing()
		})
	}
}

// gVisor stops the kernel and then writes that it did. Without this record there is no way to let the Pod go on.
func TestPauseWithoutARecordIsReported(t *testing.T) {
	n := newNode(t)
	n.wrap(`if [ $verb = pause ]; then mount --bind "$2" "$2"; mount -o remount,bind,ro "$2"; run "$@"; code=$?; umount "$2"; exit $code; fi`)
	n.startAgent()
	var stuck *save.StuckError
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); !errors.As(err, &stuck) || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("got %v", err)
	}
}

func TestPodGoesOnWhenTheDiskIsFull(t *testing.T) {
	for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
		t.Run(string(mode), func(t *testing.T) {
			n := newNode(t)
			if err := syscall.Mount("tmpfs", n.folder, "tmpfs", 0, "size=192k"); err != nil {
				t.Fatalf("these tests need root: %v", err)
			}
			t.Cleanup(func() { syscall.Unmount(n.folder, syscall.MNT_DETACH) })
			// Another program can take the room after it was promised.
			n.wrap(`case " $* " in *" usage "*) echo '{"Total": 1}'; exit 0 ;; esac`)
			n.startAgent()
			if _, err := n.saver.Save(t.Context(), request(mode)); err == nil || !strings.Contains(err.Error(), "runsc checkpoint") {
				t.Errorf("got %v", err)
			}
			n.expectNothing()
		})
	}
}

func TestDiskThatLacksTheMemoryOfThePodIsSeenBeforeThePause(t *testing.T) {
	n := newNode(t)
	pauses := filepath.Join(t.TempDir(), "pauses")
	n.wrap(`case $verb in pause|checkpoint) echo $verb >> ` + pauses + ` ;; esac`)
	// Room for the programs of the Pod as they are now, and not for what they are about to take.
	if err := syscall.Mount("tmpfs", n.folder, "tmpfs", 0, "size=48m"); err != nil {
		t.Fatalf("these tests need root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(n.folder, syscall.MNT_DETACH) })
	n.startAgent()
	n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/dev/shm/large bs=1M count=64")
	var full *store.NoSpaceError
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); !errors.As(err, &full) || full.WantedBytes < 64<<20 {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(pauses); err == nil {
		t.Errorf("before it looked: %s", text)
	}
	n.expectNothing()
	n.pod.Exec("busybox", "rm", "/dev/shm/large")
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Errorf("with less memory: %v", err)
	}
}

func TestHostileRequestsTouchNothing(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	for name, change := range map[string]func(*save.Request){
		"a namespace that is a path":   func(r *save.Request) { r.Snapshot.Namespace = "../.." },
		"a snapshot that is a path":    func(r *save.Request) { r.Snapshot.UID = "../" + snapshotUID },
		"a Pod UID that is a path":     func(r *save.Request) { r.Source.PodUID = "../../etc/passwd" },
		"a Pod name that is an option": func(r *save.Request) { r.Source.PodName = "--root=/" },
		"no Sandbox":                   func(r *save.Request) { r.Source.SandboxUID = "" },
		"an unknown mode":              func(r *save.Request) { r.Mode = "hibernate" },
		"a Pod of another namespace":   func(r *save.Request) { r.Snapshot.Namespace = "rival" },
		"a Pod that was replaced":      func(r *save.Request) { r.Source.PodUID = otherUID },
	} {
		r := request(save.Hibernate)
		change(&r)
		if _, err := n.saver.Save(t.Context(), r); err == nil {
			t.Errorf("%s: it was saved", name)
		}
	}
	n.expectNothing()
}

func TestPodThatSomethingElsePausedIsLeftAlone(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if err := n.runsc.Pause(t.Context(), n.pod.Sandbox, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err == nil || !strings.Contains(err.Error(), "something else holds it") {
		t.Errorf("got %v", err)
	}
	if !n.pod.StandsStill() {
		t.Error("it goes on")
	}
}
