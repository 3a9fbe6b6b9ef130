package grants_test

import (
	"os"
	"path/filepath"
	"testing"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/store"
)

const filesUID = "22222222-7425-40de-944b-e07fc1f90ae7"

// saveFiles makes a snapshot, of another machine, whose files were kept.
func (n *node) saveFiles(change func(*store.Manifest)) {
	n.t.Helper()
	other := fingerprint.Build(fingerprint.Parts{RunscVersion: "2", OCIVersion: "1.2.0", Architecture: "amd64", CPUFeatures: []string{"sse"}})
	manifest := store.Manifest{Machine: other, HasFiles: true}
	if change != nil {
		change(&manifest)
	}
	n.saveAs(store.Key{Namespace: "team", UID: filesUID}, manifest)
}

func memoryOf(r *grants.Request) { r.SnapshotUID = filesUID }

func filesFor(podUID string) grants.Request {
	return of(func(r *grants.Request) { r.SnapshotUID, r.PodUID, r.Only = filesUID, podUID, grants.OnlyFiles })
}

func TestFilesAreGivenOnAnyMachine(t *testing.T) {
	n := newNode(t)
	n.saveFiles(nil)
	if g := n.announce(filesFor(podUID)); g.State != grants.Announced {
		t.Errorf("got %+v", g)
	}
	// The shim does not know what the Pod gets.
	given, err := n.ledger.Begin(t.Context(), of(memoryOf))
	want := filepath.Join(n.store.Path(store.Key{Namespace: "team", UID: filesUID}), "files-worker.tar")
	if err != nil || given.Folder != "" || len(given.Files) != 1 || given.Files["worker"] != want {
		t.Errorf("got %+v, %v", given, err)
	}
	n.restart()
	_, err = n.ledger.Begin(t.Context(), of(memoryOf))
	expect[*grants.AlreadyBegunError](t, err)
}

func TestFilesAreLeftAfterMemoryThatCannotBeRestored(t *testing.T) {
	for name, fail := range map[string]func(*node){
		"another machine": func(n *node) { n.announce(of(memoryOf)) },
		"a damaged kernel": func(n *node) {
			path := filepath.Join(n.store.Path(of(memoryOf).Snapshot()), "checkpoint.img")
			if err := os.WriteFile(path, []byte("memorY"), 0o600); err != nil {
				n.t.Fatal(err)
			}
			n.announce(of(memoryOf))
		},
		"a failed restore": func(n *node) {
			n.announce(of(memoryOf))
			n.begin(of(memoryOf))
			if err := n.ledger.End(podUID, false, "it breaks"); err != nil {
				n.t.Fatal(err)
			}
		},
		// The shim died with its sandbox, and reports nothing.
		"a Pod that ended while it was restored": func(n *node) {
			n.announce(of(memoryOf))
			n.begin(of(memoryOf))
			expect[*grants.BegunError](n.t, n.ledger.Withdraw(podUID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.saveFiles(func(m *store.Manifest) {
				if name != "another machine" {
					m.Machine = machine
				}
			})
			fail(n)
			_, err := n.ledger.Announce(t.Context(), of(func(r *grants.Request) { memoryOf(r); r.PodUID = otherPodUID }))
			expect[*grants.ConflictError](t, err)
			_, err = n.ledger.Announce(t.Context(), filesFor(podUID))
			expect[*grants.ConflictError](t, err)
			n.announce(filesFor(otherPodUID))
			n.restart()
			if given, err := n.ledger.Begin(t.Context(), filesFor(otherPodUID)); err != nil || len(given.Files) != 1 {
				t.Errorf("got %+v, %v", given, err)
			}
			if err := n.ledger.End(otherPodUID, false, "it breaks as well"); err != nil {
				t.Error(err)
			}
			_, err = n.ledger.Announce(t.Context(), filesFor("33333333-7425-40de-944b-e07fc1f90ae7"))
			expect[*grants.ConflictError](t, err)
		})
	}
}

func TestFilesAreNotLeftBesideMemoryThatMayRun(t *testing.T) {
	for _, state := range []grants.State{grants.Announced, grants.Begun, grants.Restored} {
		n := newNode(t)
		n.saveFiles(func(m *store.Manifest) { m.Machine = machine })
		n.announce(of(memoryOf))
		if state != grants.Announced {
			n.begin(of(memoryOf))
		}
		if state == grants.Restored {
			if err := n.ledger.End(podUID, true, ""); err != nil {
				t.Fatal(err)
			}
		}
		_, err := n.ledger.Announce(t.Context(), filesFor(otherPodUID))
		expect[*grants.ConflictError](t, err)
	}
}

func TestWhatWasNotSavedIsNotGiven(t *testing.T) {
	n := newNode(t)
	n.saveFiles(func(m *store.Manifest) { m.Machine, m.Contents = machine, store.ContentsFiles })
	if g := n.announce(of(memoryOf)); g.State != grants.Failed || g.Message == "" {
		t.Errorf("memory is given: %+v", g)
	}
	n = newNode(t)
	n.saveFiles(func(m *store.Manifest) { m.HasFiles = false })
	if g := n.announce(filesFor(podUID)); g.State != grants.Failed || g.Message == "" {
		t.Errorf("files are given: %+v", g)
	}
	_, err := n.ledger.Announce(t.Context(), of(func(r *grants.Request) { r.PodUID, r.Only = otherPodUID, "memory" }))
	if err == nil {
		t.Error("it may have only its memory")
	}
}
