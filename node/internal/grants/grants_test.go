package grants_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/store"
)

func TestRestoreGoesThroughItsStatesAcrossDeathsOfTheAgent(t *testing.T) {
	n := newNode(t)
	if g := n.announce(request()); g.State != grants.Announced {
		t.Errorf("got %+v", g)
	}
	n.restart()
	n.expectState(grants.Announced)
	if folder := n.begin(request()); folder != n.store.Path(request().Snapshot()) {
		t.Errorf("got %s", folder)
	}
	n.restart()
	n.expectState(grants.Begun)
	if err := n.ledger.End(podUID, true, ""); err != nil {
		t.Fatal(err)
	}
	n.restart()
	n.expectState(grants.Restored)
}

func TestPodBeginsOnceAlsoAfterADeathOfTheAgent(t *testing.T) {
	for name, after := range map[string]func(*node) error{
		"at once":               func(*node) error { return nil },
		"after its restore":     func(n *node) error { return n.ledger.End(podUID, true, "") },
		"after a failure":       func(n *node) error { return n.ledger.End(podUID, false, "no memory") },
		"after it is announced": func(n *node) error { _, err := n.ledger.Announce(n.t.Context(), request()); return err },
	} {
		for _, dies := range []bool{false, true} {
			n := newNode(t)
			n.announce(request())
			n.begin(request())
			if err := after(n); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if dies {
				n.restart()
			}
			_, err := n.ledger.Begin(t.Context(), request())
			expect[*grants.AlreadyBegunError](t, err)
		}
	}
}

func TestPodWhoseSandboxIsMadeAgainHasFailedItsRestore(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	n.begin(request())
	var group sync.WaitGroup
	group.Go(func() {
		if g, err := n.ledger.Wait(t.Context(), podUID); err != nil || g.State != grants.Failed || g.Message == "" {
			t.Errorf("got %+v, %v", g, err)
		}
	})
	_, err := n.ledger.Begin(t.Context(), request())
	expect[*grants.AlreadyBegunError](t, err)
	group.Wait()
	n.restart()
	n.expectState(grants.Failed)
	expect[*grants.OutcomeError](t, n.ledger.End(podUID, true, ""))
}

func TestSnapshotIsGivenToOnePod(t *testing.T) {
	rival := of(func(r *grants.Request) { r.PodUID = otherPodUID })
	for _, state := range []grants.State{grants.Announced, grants.Begun, grants.Restored, grants.Failed} {
		n := newNode(t)
		n.announce(request())
		if state != grants.Announced {
			n.begin(request())
		}
		if state.IsOver() {
			if err := n.ledger.End(podUID, state == grants.Restored, ""); err != nil {
				t.Fatal(err)
			}
		}
		n.restart()
		_, err := n.ledger.Announce(t.Context(), rival)
		expect[*grants.ConflictError](t, err)
		if !strings.Contains(err.Error(), podUID) || !strings.Contains(err.Error(), string(state)) {
			t.Errorf("the error does not say who has it: %v", err)
		}
		if n.ledger.IsSpent(request().Snapshot()) != (state != grants.Announced) {
			t.Errorf("%s: is it spent?", state)
		}
	}
}

func TestPodHasOneSnapshot(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	_, err := n.ledger.Announce(t.Context(), of(func(r *grants.Request) { r.SnapshotUID = otherUID }))
	expect[*grants.ConflictError](t, err)
}

func TestWithdrawnAnnouncementLetsAnotherPodHaveTheSnapshot(t *testing.T) {
	n := newNode(t)
	n.limit = time.Nanosecond
	n.restart()
	n.announce(request())
	for range 2 {
		if err := n.ledger.Withdraw(podUID); err != nil {
			t.Fatal(err)
		}
	}
	n.restart()
	_, err := n.ledger.Begin(t.Context(), request())
	expect[*grants.NotAnnouncedError](t, err)
	rival := of(func(r *grants.Request) { r.PodUID = otherPodUID })
	n.limit = time.Minute
	n.restart()
	n.announce(rival)
	n.begin(rival)
}

func TestRestoreThatBeganCannotBeWithdrawn(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	n.begin(request())
	expect[*grants.BegunError](t, n.ledger.Withdraw(podUID))
	n.expectState(grants.Begun)
}

func TestBeginWaitsForItsAnnouncement(t *testing.T) {
	n := newNode(t)
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := n.ledger.Begin(t.Context(), request()); err != nil {
			t.Error(err)
		}
	})
	n.announce(of(func(r *grants.Request) { r.PodUID, r.SnapshotUID = otherPodUID, otherUID }))
	n.announce(request())
	group.Wait()
	n.expectState(grants.Begun)
}

func TestOfManyBeginsOneGetsTheSnapshot(t *testing.T) {
	n := newNode(t)
	var group sync.WaitGroup
	var given atomic.Int32
	for range 20 {
		group.Go(func() {
			if _, err := n.ledger.Begin(t.Context(), request()); err == nil {
				given.Add(1)
			} else {
				expect[*grants.AlreadyBegunError](t, err)
			}
		})
	}
	n.announce(request())
	group.Wait()
	if given.Load() != 1 {
		t.Errorf("given %d times", given.Load())
	}
}

func TestAnnouncementSucceedsWhileTheAgentEnds(t *testing.T) {
	n := newNode(t)
	ended, end := context.WithCancel(t.Context())
	end()
	if g, err := n.ledger.Announce(ended, request()); err != nil || g.State != grants.Announced {
		t.Errorf("got %+v, %v", g, err)
	}
}

func TestShimThatGaveUpIsNotBegun(t *testing.T) {
	n := newNode(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	n.announce(request())
	if _, err := n.ledger.Begin(gone, request()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	n.expectState(grants.Announced)
}

func TestBeginWantsWhatWasAnnounced(t *testing.T) {
	rows := map[string]func(*grants.Request){
		"namespace": func(r *grants.Request) { r.Namespace = "rival" },
		"name":      func(r *grants.Request) { r.PodName = "analyst-2" },
		"snapshot":  func(r *grants.Request) { r.SnapshotUID = otherUID },
	}
	n := newNode(t)
	n.announce(request())
	for name, change := range rows {
		if _, err := n.ledger.Begin(t.Context(), of(change)); err == nil {
			t.Errorf("another %s began", name)
		} else {
			expect[*grants.NotAnnouncedError](t, err)
		}
	}
	n.expectState(grants.Announced)
}

func TestPodThatIsNotAnnouncedDoesNotBeginForAnother(t *testing.T) {
	n := newNode(t)
	n.limit = time.Millisecond
	n.restart()
	n.announce(request())
	_, err := n.ledger.Begin(t.Context(), of(func(r *grants.Request) { r.PodUID = otherPodUID }))
	expect[*grants.NotAnnouncedError](t, err)
	n.expectState(grants.Announced)
}

func TestNamesThatArePathsReachNoFile(t *testing.T) {
	n := newNode(t)
	for name, change := range map[string]func(*grants.Request){
		"namespace": func(r *grants.Request) { r.Namespace = ".." },
		"name":      func(r *grants.Request) { r.PodName = "../analyst" },
		"Pod":       func(r *grants.Request) { r.PodUID = "../../etc/passwd" },
		"snapshot":  func(r *grants.Request) { r.SnapshotUID = "../" + snapshotUID },
	} {
		_, announcing := n.ledger.Announce(t.Context(), of(change))
		_, beginning := n.ledger.Begin(t.Context(), of(change))
		if announcing == nil || beginning == nil {
			t.Errorf("%s: %v, %v", name, announcing, beginning)
		}
	}
	if left, err := os.ReadDir(filepath.Join(n.folder, "grants")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAbsentSnapshotIsNotAnnounced(t *testing.T) {
	n := newNode(t)
	for name, change := range map[string]func(*grants.Request){
		"unknown":              func(r *grants.Request) { r.SnapshotUID = otherPodUID },
		"of another namespace": func(r *grants.Request) { r.Namespace = "rival" },
	} {
		if _, err := n.ledger.Announce(t.Context(), of(change)); !errors.Is(err, store.ErrAbsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSnapshotDeletedAfterItsAnnouncementIsNotBegun(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	if err := n.store.Delete(request().Snapshot()); err != nil {
		t.Fatal(err)
	}
	_, err := n.ledger.Begin(t.Context(), request())
	expect[*grants.NotAnnouncedError](t, err)
}

func TestSnapshotThatThisNodeCannotRestoreFailsAtOnce(t *testing.T) {
	upgraded := fingerprint.Build(fingerprint.Parts{RunscVersion: "2", OCIVersion: "1.2.0", Architecture: "amd64", CPUFeatures: []string{"sse"}})
	rows := map[string]struct {
		spoil func(n *node) error
		words string
	}{
		"saved by another gVisor": {func(n *node) error {
			if err := n.store.Delete(request().Snapshot()); err != nil {
				return err
			}
			n.save(request().Snapshot(), upgraded)
			return nil
		}, "the snapshot is of runsc 2, this node has 1"},
		"damaged": {func(n *node) error {
			return os.Truncate(filepath.Join(n.store.Path(request().Snapshot()), "pages.img"), 1)
		}, "is damaged"},
		"damaged in its kernel, at the same size": {func(n *node) error {
			return os.WriteFile(filepath.Join(n.store.Path(request().Snapshot()), "checkpoint.img"), []byte("memorY"), 0o600)
		}, "checkpoint.img has another checksum"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if err := row.spoil(n); err != nil {
				t.Fatal(err)
			}
			if g := n.announce(request()); g.State != grants.Failed || !strings.Contains(g.Message, row.words) {
				t.Errorf("got %+v", g)
			}
			if _, err := n.ledger.Begin(t.Context(), request()); err == nil {
				t.Error("it began")
			}
		})
	}
}

func TestEndIsKeptOnceAndCannotContradict(t *testing.T) {
	n := newNode(t)
	expect[*grants.UnknownError](t, n.ledger.End(podUID, true, ""))
	n.announce(request())
	expect[*grants.OutcomeError](t, n.ledger.End(podUID, true, ""))
	n.begin(request())
	for range 2 {
		if err := n.ledger.End(podUID, false, strings.Repeat("ä", 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	expect[*grants.OutcomeError](t, n.ledger.End(podUID, true, ""))
	if g, err := n.ledger.Wait(t.Context(), podUID); err != nil || g.State != grants.Failed || len(g.Message) != 2048 {
		t.Errorf("got %s with %d bytes of message, %v", g.State, len(g.Message), err)
	}
}

func TestWaitEndsWithTheRestore(t *testing.T) {
	n := newNode(t)
	_, err := n.ledger.Wait(t.Context(), podUID)
	expect[*grants.UnknownError](t, err)
	n.announce(request())
	var group sync.WaitGroup
	group.Go(func() {
		if g, err := n.ledger.Wait(t.Context(), podUID); err != nil || g.State != grants.Restored {
			t.Errorf("got %+v, %v", g, err)
		}
	})
	n.begin(request())
	if err := n.ledger.End(podUID, true, ""); err != nil {
		t.Fatal(err)
	}
	group.Wait()
}
