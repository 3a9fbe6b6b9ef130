package save_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// long is a hold that ends by itself in no test.
const long = 600

func held(seconds int) save.Request {
	r := request(save.Snapshot)
	r.HoldSeconds = seconds
	return r
}

// holdPod starts an agent that saves the Pod and holds it.
func holdPod(t *testing.T, seconds int) *node {
	t.Helper()
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), held(seconds)); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) expectHoldEnded() {
	n.t.Helper()
	var ended *save.HoldEndedError
	if err := n.saver.Release(n.t.Context(), snapshot()); !errors.As(err, &ended) {
		n.t.Errorf("the release: %v", err)
	}
}

// expectGoesOn expects a Pod that goes on beside its whole snapshot.
func (n *node) expectGoesOn() {
	n.t.Helper()
	if _, err := n.store.Verify(n.t.Context(), snapshot()); err != nil {
		n.t.Error(err)
	}
	if left := n.remains(); len(left) != 0 {
		n.t.Errorf("left: %v", left)
	}
	n.pod.GoesOn()
}

func TestHeldPodStandsStillUntilItIsReleased(t *testing.T) {
	n := holdPod(t, long)
	if !n.pod.StandsStill() {
		t.Fatal("it goes on before its disks are copied")
	}
	if _, err := n.saver.Save(t.Context(), held(long)); err != nil || !n.pod.StandsStill() {
		t.Errorf("a repeated request: %v; the Pod stands still: %t", err, n.pod.StandsStill())
	}
	second := held(long)
	second.Snapshot.UID = otherUID
	var busy *save.BusyError
	if _, err := n.saver.Save(t.Context(), second); !errors.As(err, &busy) {
		t.Errorf("another snapshot of it: %v", err)
	}
	for range 2 {
		if err := n.saver.Release(t.Context(), snapshot()); err != nil {
			t.Fatal(err)
		}
		n.expectGoesOn()
	}
	copied := store.Key{Namespace: "team", UID: copyUIDs[0]}
	if _, err := n.store.Copy(copied, snapshotUID); err != nil {
		t.Fatal(err)
	}
	n.restoreCopy(copied).GoesOn()
	if _, err := n.saver.Save(t.Context(), second); err != nil {
		t.Errorf("the next save: %v", err)
	}
	n.saver.EndHolds()
}

func TestHoldEndsByItself(t *testing.T) {
	n := holdPod(t, 1)
	n.pod.WaitFor("end of the hold", func() bool { return !n.pod.StandsStill() })
	n.expectHoldEnded()
	n.saver.Wait()
	n.expectGoesOn()
}

func TestReleaseTellsThatThePodDidNotStandStill(t *testing.T) {
	for name, disturb := range map[string]func(*node){
		"something else let it go on": func(n *node) {
			if err := n.runsc.Resume(t.Context(), n.pod.Sandbox); err != nil {
				t.Fatal(err)
			}
		},
		"its sandbox ended": func(n *node) { n.pod.Delete() },
	} {
		t.Run(name, func(t *testing.T) {
			n := holdPod(t, long)
			disturb(n)
			for range 2 {
				n.expectHoldEnded()
			}
			if left := n.remains(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	n := newNode(t)
	n.startAgent()
	n.expectHoldEnded()
}

func TestDeletionEndsTheHold(t *testing.T) {
	n := holdPod(t, long)
	for range 2 {
		if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
			t.Fatal(err)
		}
		n.expectNothing()
	}
	n.expectHoldEnded()
}

func TestEndOfTheAgentEndsTheHold(t *testing.T) {
	n := holdPod(t, long)
	n.saver.EndHolds()
	n.saver.Wait()
	n.expectGoesOn()
	n.expectHoldEnded()
	second := held(long)
	second.Snapshot.UID = otherUID
	if _, err := n.saver.Save(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	n.saver.Wait()
	n.pod.GoesOn()
}

func TestHeldPodGoesOnAfterAFailure(t *testing.T) {
	for name, script := range map[string]string{
		"of the pause":                      `if [ $verb = pause ]; then exit 1; fi`,
		"of the checkpoint":                 `if [ $verb = checkpoint ]; then exit 1; fi`,
		"of a checkpoint that left no file": `if [ $verb = checkpoint ]; then exit 0; fi`,
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.wrap(script)
			n.startAgent()
			if _, err := n.saver.Save(t.Context(), held(long)); err == nil {
				t.Error("it was saved")
			}
			n.expectNothing()
			n.expectHoldEnded()
		})
	}
}

func TestHeldPodThatCannotGoOnIsReported(t *testing.T) {
	n := newNode(t)
	whole := n.runsc
	n.wrap(`if [ $verb = resume ]; then echo "not now" >&2; exit 1; fi`)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), held(long)); err != nil {
		t.Fatal(err)
	}
	var stuck *save.StuckError
	if err := n.saver.Release(t.Context(), snapshot()); !errors.As(err, &stuck) || !strings.Contains(err.Error(), "not now") {
		t.Errorf("got %v", err)
	}
	n.runsc = whole
	n.store.Close()
	n.startAgent()
	n.expectGoesOn()
}

func TestHoldIsRefusedWhereItMakesNoSense(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	hibernation := held(long)
	hibernation.Mode = save.Hibernate
	for _, r := range []save.Request{hibernation, held(-1), held(601)} {
		if _, err := n.saver.Save(t.Context(), r); err == nil || !strings.Contains(err.Error(), "holdSeconds is") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := n.saver.Release(context.Background(), store.Key{Namespace: "..", UID: ".."}); err == nil {
		t.Error("a path was released")
	}
	n.expectNothing()
}
