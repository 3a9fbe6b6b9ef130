package grants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandlot.dev/node/internal/grants"
)

func TestOldGrantsGoWithTheirSnapshots(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	n.begin(request())
	prune := func(after time.Duration) {
		t.Helper()
		n.now = n.now.Add(after)
		if err := n.ledger.Prune(); err != nil {
			t.Fatal(err)
		}
	}
	prune(1000 * time.Hour)
	n.expectState(grants.Begun)
	if err := n.ledger.End(podUID, true, ""); err != nil {
		t.Fatal(err)
	}
	if err := n.store.Delete(request().Snapshot()); err != nil {
		t.Fatal(err)
	}
	prune(time.Minute)
	n.expectState(grants.Restored)
	prune(time.Hour)
	_, err := n.ledger.Wait(t.Context(), podUID)
	expect[*grants.UnknownError](t, err)
	n.restart()
	_, err = n.ledger.Wait(t.Context(), podUID)
	expect[*grants.UnknownError](t, err)
}

// A kill leaves the file of before or of after, and possibly the beginning of another one beside it.
func TestDeathInTheMiddleOfARecordLeavesTheEarlierState(t *testing.T) {
	for _, written := range []string{"", `{"namespace":"te`, `{"state":"Restored"}`} {
		n := newNode(t)
		n.announce(request())
		n.begin(request())
		name := filepath.Join(n.folder, "grants", ".unfinished-"+podUID+".json")
		if err := os.WriteFile(name, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
		n.restart()
		n.expectState(grants.Begun)
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("the remains: %v", err)
		}
	}
}

// A disk that fails can keep a withdrawn announcement.
func TestOfTwoAnnouncementsOnTheDiskTheFirstToBeginHasTheSnapshot(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	name := filepath.Join(n.folder, "grants", podUID+".json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.ReplaceAll(string(text), podUID, otherPodUID)
	if err := os.WriteFile(filepath.Join(n.folder, "grants", otherPodUID+".json"), []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	n.restart()
	n.begin(of(func(r *grants.Request) { r.PodUID = otherPodUID }))
	_, err = n.ledger.Begin(t.Context(), request())
	expect[*grants.NotAnnouncedError](t, err)
}

func TestRecordThatCannotBeReadStopsTheAgent(t *testing.T) {
	for name, text := range map[string]string{
		"cut":                 `{"namespace":"te`,
		"of an unknown state": `{"namespace":"team","podName":"a","podUid":"` + podUID + `","snapshotUid":"` + snapshotUID + `","state":"Lost"}`,
		"of another Pod":      `{"namespace":"team","podName":"a","podUid":"` + otherPodUID + `","snapshotUid":"` + snapshotUID + `","state":"Begun"}`,
		"with a path":         `{"namespace":"..","podName":"a","podUid":"` + podUID + `","snapshotUid":"` + snapshotUID + `","state":"Begun"}`,
	} {
		n := newNode(t)
		if err := os.WriteFile(filepath.Join(n.folder, "grants", podUID+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := n.open(); err == nil || !strings.Contains(err.Error(), "delete the Pod") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGrantThatCannotBeWrittenIsNotGiven(t *testing.T) {
	n := newNode(t)
	n.announce(request())
	folder := filepath.Join(n.folder, "grants")
	// A folder in the place of the file that would be written.
	blocker := filepath.Join(folder, ".unfinished-"+podUID+".json")
	if err := os.Mkdir(blocker, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := n.ledger.Begin(t.Context(), request()); err == nil {
		t.Error("it began")
	}
	n.expectState(grants.Announced)
	if err := os.Remove(blocker); err != nil {
		t.Fatal(err)
	}
	n.begin(request())
}
