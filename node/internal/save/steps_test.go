package save_test

import (
	"errors"
	"testing"

	"sandlot.dev/node/internal/deathtest"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// Wherever an agent dies that saves, the next one finds a whole snapshot or none, and the Pod stands still only for its
// hibernation.
func TestDeathAtEveryStepOfASave(t *testing.T) {
	for name, r := range map[string]save.Request{"Hibernate": request(save.Hibernate), "Snapshot": request(save.Snapshot), "held": held(long)} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
				n.clear()
				command := n.agentCommand(map[string]any{"Request": r})
				return deathtest.Trial{Command: command, Judge: func(step string, _ error) { n.judgeSave(step, r.Mode) }}
			})
			if steps < 10 {
				t.Errorf("only %d steps", steps)
			}
		})
	}
}

func (n *node) clear() {
	n.t.Helper()
	n.startAgent()
	defer n.store.Close()
	if err := n.saver.Delete(n.t.Context(), snapshot()); err != nil {
		n.t.Fatal(err)
	}
	n.expectNothing()
}

func (n *node) judgeSave(step string, mode save.Mode) {
	n.t.Helper()
	n.startAgent()
	defer n.store.Close()
	_, err := n.store.Verify(n.t.Context(), snapshot())
	if err != nil && !errors.Is(err, store.ErrAbsent) {
		n.t.Errorf("%s: the snapshot: %v", step, err)
	}
	if left := n.remains(); len(left) != 0 {
		n.t.Errorf("%s: left: %v", step, left)
	}
	found, findErr := n.runsc.FindPod(n.t.Context(), analyst)
	want := runsc.Running
	if err == nil && mode == save.Hibernate {
		want = runsc.Paused
	}
	if findErr != nil || found.Status != want {
		n.t.Fatalf("%s: the Pod is %q, %v; want %s", step, found.Status, findErr, want)
	}
}
