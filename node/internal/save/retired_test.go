package save_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandlot.dev/node/internal/deathtest"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

func (n *node) expectRetired() {
	n.t.Helper()
	if _, err := n.store.Get(snapshot()); !errors.Is(err, store.ErrAbsent) {
		n.t.Errorf("the snapshot: %v", err)
	}
	var retired *save.RetiredError
	if err := n.saver.CheckStart(podUID); !errors.As(err, &retired) {
		n.t.Errorf("the start of the Pod: %v", err)
	}
	if !n.pod.StandsStill() {
		n.t.Error("the Pod goes on, as its sandbox does elsewhere")
	}
}

func TestPodStandsStillAfterTheDeletionOfAHibernationThatWentOnElsewhere(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	// An intent that an earlier agent could not remove lets no later one wake the Pod.
	text := `{"snapshot":{"namespace":"team","snapshotUid":"` + snapshotUID + `"},"source":{"sandboxName":"analyst","sandboxUid":"` + otherUID + `","podName":"analyst-1","podUid":"` + podUID + `"},"mode":"Hibernate"}`
	if err := os.WriteFile(filepath.Join(n.folder, ".intents", podUID+".json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.saver.DeleteSpent(t.Context(), snapshot()); err != nil {
			t.Fatal(err)
		}
		n.expectRetired()
	}
	// A caller that forgot does not wake it either.
	if err := n.saver.Delete(t.Context(), snapshot()); err != nil {
		t.Fatal(err)
	}
	n.store.Close()
	n.startAgent()
	n.expectRetired()
	if err := n.saver.CheckStart(otherUID); err != nil {
		t.Errorf("another Pod: %v", err)
	}
}

func TestRecordOfAPodThatNeverGoesOnGoesWithThePod(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	if err := n.saver.DeleteSpent(t.Context(), snapshot()); err != nil {
		t.Fatal(err)
	}
	n.saver.Now = func() time.Time { return time.Unix(1, 0).Add(48 * time.Hour) }
	if err := n.saver.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.expectRetired()
	n.pod.Delete()
	n.saver.Now = func() time.Time { return time.Unix(1, 0).Add(time.Hour) }
	if err := n.saver.Prune(t.Context()); err != nil || len(n.records()) != 1 {
		t.Errorf("after an hour: %v, %v", n.records(), err)
	}
	n.saver.Now = func() time.Time { return time.Unix(1, 0).Add(48 * time.Hour) }
	if err := n.saver.Prune(t.Context()); err != nil || len(n.records()) != 0 {
		t.Errorf("after two days: %v, %v", n.records(), err)
	}
}

func (n *node) records() []string {
	found, err := filepath.Glob(filepath.Join(n.folder, ".intents", "*.retired"))
	if err != nil {
		n.t.Fatal(err)
	}
	return found
}

func TestPodStandsStillWhereverTheAgentDiesInTheDeletion(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); err != nil {
		t.Fatal(err)
	}
	n.store.Close()
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(n.folder, "team"))); err != nil {
		t.Fatal(err)
	}
	steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
		for _, name := range []string{"team", ".intents"} {
			if err := os.RemoveAll(filepath.Join(n.folder, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS(filepath.Join(n.folder, "team"), os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		command := n.agentCommand(map[string]any{"Request": request(save.Hibernate), "DeletesSpent": true})
		return deathtest.Trial{Command: command, Judge: func(step string, _ error) {
			n.startAgent()
			defer n.store.Close()
			if _, err := n.store.Verify(t.Context(), snapshot()); err != nil && !errors.Is(err, store.ErrAbsent) {
				t.Errorf("%s: the snapshot: %v", step, err)
			}
			if !n.pod.StandsStill() {
				t.Fatalf("%s: the Pod goes on", step)
			}
			if err := n.saver.CheckStart(podUID); err == nil {
				t.Errorf("%s: the Pod may start anew", step)
			}
		}}
	})
	if steps < 5 {
		t.Errorf("only %d steps", steps)
	}
}
