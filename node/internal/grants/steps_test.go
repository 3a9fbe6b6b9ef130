package grants_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sandlot.dev/node/internal/deathtest"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/store"
)

// folderVariable makes the test's program an agent that restores a Pod once, in this folder.
const folderVariable = "SANDLOT_TEST_RESTORE"

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVariable); folder != "" {
		if err := restoreOnce(folder); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answered are folders that an agent makes where it would send its answer.
var answered = []string{"announced", "given", "recorded"}

func restoreOnce(folder string) error {
	n := &node{folder: folder, now: time.Unix(1, 0), limit: time.Minute}
	var err error
	if n.store, err = store.Open(filepath.Join(folder, "store"), store.Options{}); err != nil {
		return err
	}
	ledger, err := n.open()
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { _, err := ledger.Announce(context.Background(), request()); return err },
		func() error { _, err := ledger.Begin(context.Background(), request()); return err },
		func() error { return ledger.End(podUID, true, "") },
	}
	for i, step := range steps {
		if err := errors.Join(step(), os.Mkdir(filepath.Join(folder, answered[i]), 0o700)); err != nil {
			return err
		}
	}
	return nil
}

// Wherever an agent dies that restores a Pod, the next one knows what was answered, and gives the snapshot to this Pod if it
// was given to none, and never to another.
func TestDeathAtEveryStepOfARestore(t *testing.T) {
	ranks := map[grants.State]int{"": 0, grants.Announced: 1, grants.Begun: 2, grants.Restored: 3}
	latest := 0
	steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
		n := newNode(t)
		n.store.Close()
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), folderVariable+"="+n.folder)
		return deathtest.Trial{Command: command, Judge: func(step string, _ error) {
			n.reopen()
			rank := ranks[n.stateOf(podUID)]
			if rank < latest || rank < n.countAnswers() {
				t.Errorf("%s: after %d answers the record is that of %d, and was that of %d", step, n.countAnswers(), rank, latest)
			}
			latest = rank
			if rank == 0 {
				n.announce(request())
			}
			_, err := n.ledger.Begin(t.Context(), request())
			if isGiven := err == nil; isGiven != (rank < ranks[grants.Begun]) {
				t.Errorf("%s: the Pod begins: %v", step, err)
			}
			_, err = n.ledger.Announce(t.Context(), of(func(r *grants.Request) { r.PodUID = otherPodUID }))
			expect[*grants.ConflictError](t, err)
		}}
	})
	if steps < 15 || latest != ranks[grants.Restored] {
		t.Errorf("%d steps, and the last one left state %d", steps, latest)
	}
}

func (n *node) reopen() {
	n.t.Helper()
	var err error
	if n.store, err = store.Open(filepath.Join(n.folder, "store"), store.Options{}); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.store.Close() })
	n.restart()
}

// stateOf is that of the Pod's restore; empty: there is none.
func (n *node) stateOf(podUID string) grants.State {
	n.t.Helper()
	ended, end := context.WithCancel(n.t.Context())
	end()
	g, err := n.ledger.Wait(ended, podUID)
	if unknown := new(grants.UnknownError); err != nil && !errors.As(err, &unknown) {
		n.t.Fatal(err)
	}
	return g.State
}

func (n *node) countAnswers() int {
	count := 0
	for _, name := range answered {
		if _, err := os.Stat(filepath.Join(n.folder, name)); err == nil {
			count++
		}
	}
	return count
}
