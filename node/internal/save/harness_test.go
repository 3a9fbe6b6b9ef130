package save_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

const (
	podUID      = "0f8fad5b-d9cb-469f-a165-70867728950e"
	snapshotUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	otherUID    = "11111111-7425-40de-944b-e07fc1f90ae7"
	patience    = 30 * time.Second
)

var analyst = runsc.PodName{Namespace: "team", Name: "analyst-1", UID: podUID}

// agentVariable makes the test's program an agent that saves or deletes once.
const agentVariable = "SANDLOT_TEST_AGENT"

func TestMain(m *testing.M) {
	if text := os.Getenv(agentVariable); text != "" {
		if err := saveOnce(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func saveOnce(text string) error {
	var order struct {
		Runsc   runsc.Runsc
		Store   string
		Request save.Request
		// Deletes makes it delete the snapshot instead, DeletesSpent as one that went on elsewhere.
		Deletes, DeletesSpent bool
	}
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return err
	}
	s, err := store.Open(order.Store, store.Options{})
	if err != nil {
		return err
	}
	saver, err := newSaver(context.Background(), &node{folder: order.Store, runsc: order.Runsc, store: s})
	if err != nil {
		return err
	}
	if order.DeletesSpent {
		return saver.DeleteSpent(context.Background(), order.Request.Snapshot)
	}
	if order.Deletes {
		return saver.Delete(context.Background(), order.Request.Snapshot)
	}
	_, err = saver.Save(context.Background(), order.Request)
	return err
}

func newSaver(ctx context.Context, n *node) (*save.Saver, error) {
	if n.flush == nil {
		n.flush, n.flushLimit = func() {}, patience
	}
	return save.New(ctx, save.Options{
		Runsc: n.runsc, Machine: n.runsc.Fingerprint, Store: n.store, IntentFolder: filepath.Join(n.folder, ".intents"), MostSaves: 2,
		MostFilesBytes: 256 << 20, ResumeLimit: patience, IsSpent: func(key store.Key) bool { return n.isSpent != nil && n.isSpent(key) },
		Flush: n.flush, FlushLimit: n.flushLimit,
		Now: func() time.Time { return time.Unix(1, 0) },
	})
}

// node is a node with an agent and a Pod that runs.
type node struct {
	t      testing.TB
	folder string
	runsc  runsc.Runsc
	store  *store.Store
	saver  *save.Saver
	pod    *runsctest.Pod
	rt     *runsctest.Runtime
	// flush takes the place of sync(2), which has to do with all that runs beside a test.
	flush      func()
	flushLimit time.Duration
	// isSpent reports whether a Pod began with a snapshot; nil: none did.
	isSpent func(store.Key) bool
}

func newNode(t *testing.T) *node {
	rt := runsctest.NewRuntime(t)
	n := &node{t: t, folder: t.TempDir(), runsc: rt.Runsc, pod: rt.StartPod(analyst), rt: rt}
	return n
}

// startAgent starts the next agent, in this process.
func (n *node) startAgent() {
	n.t.Helper()
	var err error
	if n.store, err = store.Open(n.folder, store.Options{}); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.store.Close() })
	if n.saver, err = newSaver(n.t.Context(), n); err != nil {
		n.t.Fatal(err)
	}
	if err := n.saver.Recover(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

func request(mode save.Mode) save.Request {
	return save.Request{
		Snapshot: store.Key{Namespace: "team", UID: snapshotUID},
		Source:   store.Source{SandboxName: "analyst", SandboxUID: otherUID, PodName: "analyst-1", PodUID: podUID},
		Mode:     mode,
	}
}

// remains lists what is in the store beside snapshots.
func (n *node) remains() []string {
	var found []string
	for _, pattern := range []string{"*/.saving-*", "*/.deleting-*", ".intents/*"} {
		matches, err := filepath.Glob(filepath.Join(n.folder, pattern))
		if err != nil {
			n.t.Fatal(err)
		}
		found = append(found, matches...)
	}
	return found
}

func (n *node) expectNothing() {
	n.t.Helper()
	if _, err := n.store.Get(request(save.Snapshot).Snapshot); !errors.Is(err, store.ErrAbsent) {
		n.t.Errorf("the snapshot: %v", err)
	}
	if left := n.remains(); len(left) != 0 {
		n.t.Errorf("left: %v", left)
	}
	n.pod.GoesOn()
}

// wrap puts a script before runsc. In it, $verb is the verb, and run runs the real program; killInTheMiddle runs it as well, and
// kills it and the script while gVisor writes the files of a checkpoint.
func (n *node) wrap(script string) {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "runsc")
	text := `#!/bin/sh
for verb in "$@"; do case "$verb" in --*) ;; pause|resume|checkpoint|fscheckpoint|state) break ;; esac; done
run() { ` + n.runsc.Binary + ` "$@"; }
killInTheMiddle() {
	for arg; do if [ "$before" = --image-path ]; then folder=$arg; fi; before=$arg; done
	(exec ` + n.runsc.Binary + ` "$@") & pid=$!
	while [ ! -s "$folder/pages.img" ] && kill -0 $pid 2>/dev/null; do :; done
	kill -9 $pid; kill -9 $$
}
` + script + "\nrun \"$@\"\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		n.t.Fatal(err)
	}
	n.runsc.Binary = path
}
