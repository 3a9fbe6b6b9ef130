package grants_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/store"
)

const (
	podUID      = "0f8fad5b-d9cb-469f-a165-70867728950e"
	otherPodUID = "1f8fad5b-d9cb-469f-a165-70867728950e"
	snapshotUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	otherUID    = "11111111-7425-40de-944b-e07fc1f90ae7"
)

var machine = fingerprint.Build(fingerprint.Parts{RunscVersion: "1", OCIVersion: "1.2.0", Architecture: "amd64", CPUFeatures: []string{"sse"}})

// node is a node with two snapshots.
type node struct {
	t      *testing.T
	folder string
	store  *store.Store
	ledger *grants.Ledger
	now    time.Time
	// limit is how long a Pod waits for its announcement.
	limit time.Duration
	// most is how many restores run at a time; 0: four.
	most int
	// direct has Pods read past the page cache.
	direct bool
	// clock is that of the ledger; nil: it shows now.
	clock func() time.Time
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, folder: t.TempDir(), now: time.Unix(1, 0), limit: time.Minute}
	var err error
	if n.store, err = store.Open(filepath.Join(n.folder, "store"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.store.Close() })
	for _, uid := range []string{snapshotUID, otherUID} {
		n.save(store.Key{Namespace: "team", UID: uid}, machine)
	}
	n.restart()
	return n
}

func (n *node) save(key store.Key, machine fingerprint.Fingerprint) {
	n.t.Helper()
	n.saveAs(key, store.Manifest{Machine: machine})
}

func (n *node) saveAs(key store.Key, manifest store.Manifest) {
	n.t.Helper()
	d, err := n.store.Begin(key, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, name := range []string{"checkpoint.img", "pages.img", store.FilesName("worker")} {
		if err := os.WriteFile(filepath.Join(d.Path(), name), []byte("memory"), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	if _, err := d.Finish(n.t.Context(), manifest); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) tell() time.Time {
	if n.clock != nil {
		return n.clock()
	}
	return n.now
}

func (n *node) open() (*grants.Ledger, error) {
	return grants.Open(grants.Options{
		Folder: filepath.Join(n.folder, "grants"), Store: n.store, BeginLimit: n.limit, KeepFor: time.Hour,
		MostBeginLimit: 100 * time.Second, ArrivalGrace: 30 * time.Second, MostRestores: cmp.Or(n.most, 4), DirectReads: n.direct,
		Machine: func(ctx context.Context) (fingerprint.Fingerprint, error) { return machine, ctx.Err() },
		Now:     n.tell,
	})
}

// restart starts the next agent. The earlier one has no chance to say goodbye.
func (n *node) restart() {
	n.t.Helper()
	var err error
	if n.ledger, err = n.open(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) announce(request grants.Request) grants.Grant {
	n.t.Helper()
	g, err := n.ledger.Announce(n.t.Context(), request)
	if err != nil {
		n.t.Fatal(err)
	}
	return g
}

func (n *node) begin(request grants.Request) string {
	n.t.Helper()
	given, err := n.ledger.Begin(n.t.Context(), request)
	if err != nil {
		n.t.Fatal(err)
	}
	return given.Folder
}

func request() grants.Request {
	return grants.Request{Namespace: "team", PodName: "analyst-1", PodUID: podUID, SnapshotUID: snapshotUID}
}

// of changes one field of the usual request.
func of(change func(*grants.Request)) grants.Request {
	r := request()
	change(&r)
	return r
}

func expect[E error](t *testing.T, err error) {
	t.Helper()
	if _, found := errors.AsType[E](err); !found {
		var wanted E
		t.Errorf("got %v; want a %T", err, wanted)
	}
}

func (n *node) expectState(want grants.State) {
	n.t.Helper()
	ended, end := context.WithCancel(n.t.Context())
	end()
	if g, err := n.ledger.Wait(ended, podUID); err != nil || g.State != want {
		n.t.Errorf("got %+v, %v; want %s", g, err, want)
	}
}
