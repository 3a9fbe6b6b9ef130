package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/store"
)

const (
	// deaths is how often the agent is killed. Each kill hits another step of the requests that are under way.
	deaths    = 30
	snapshots = 12
)

func uid(kind, i int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, i) }

// restoring is what callers learned about the restores of one snapshot, for which two Pods compete.
type restoring struct {
	snapshot string
	pods     [2]string
	// given counts the folders that the agent gave away, to either Pod.
	given atomic.Int32
	// ended is set after the agent took the end of a restore.
	ended [2]atomic.Bool
}

func (n *node) fillStore() []*restoring {
	n.t.Helper()
	s, err := store.Open(n.path("store"), store.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	defer s.Close()
	machine, err := runsc.NewMachine(runsc.Runsc{Binary: n.runsc, Root: n.runscRoot, Limits: runsc.Limits{Brief: patience}}).Describe(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	var all []*restoring
	for i := range snapshots {
		r := &restoring{snapshot: uid(1, i), pods: [2]string{uid(2, i), uid(3, i)}}
		draft, err := s.Begin(store.Key{Namespace: "team", UID: r.snapshot}, 0)
		if err != nil {
			n.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(draft.Path(), "pages.img"), []byte("memory"), 0o600); err != nil {
			n.t.Fatal(err)
		}
		if _, err := draft.Finish(n.t.Context(), store.Manifest{Machine: machine}); err != nil {
			n.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestKilledAgentGivesNoSnapshotTwice kills the process at random steps while controllers announce and withdraw, and shims
// begin and end, all of them again and again.
func TestKilledAgentGivesNoSnapshotTwice(t *testing.T) {
	n := newNode(t)
	all := n.fillStore()
	n.start()
	var group sync.WaitGroup
	var over atomic.Bool
	for _, r := range all {
		for pod := range r.pods {
			group.Go(func() {
				for !over.Load() {
					n.step(r, pod)
				}
			})
		}
	}
	for range deaths {
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		n.kill()
		n.start()
	}
	over.Store(true)
	group.Wait()
	n.kill()
	n.start()
	var given int32
	for _, r := range all {
		n.judge(r)
		given += r.given.Load()
	}
	if given == 0 {
		t.Error("no Pod ever began")
	}
}

// step makes one request of a Pod's restore. Both Pods name the same snapshot.
func (n *node) step(r *restoring, pod int) {
	name, path := fmt.Sprintf("analyst-%d", pod), "/v1/restores/"+r.pods[pod]
	switch rand.IntN(5) {
	case 0, 1:
		n.ask(n.controller, "PUT "+path, announcement(name, r.snapshot))
	case 2:
		n.ask(n.controller, "DELETE "+path, "")
	case 3:
		// A begin without an announcement would wait.
		if _, answer := n.ask(n.controller, "GET "+path, ""); answer["state"] == nil {
			return
		}
		if status, _ := n.ask(n.hasty, "POST /v1/begin", begin(name, r.pods[pod], r.snapshot)); status == 200 {
			r.given.Add(1)
		}
	case 4:
		if status, _ := n.ask(n.shim, "POST /v1/end", end(r.pods[pod], true)); status == 204 {
			r.ended[pod].Store(true)
		}
	}
}

func (n *node) judge(r *restoring) {
	n.t.Helper()
	if given := r.given.Load(); given > 1 {
		n.t.Errorf("snapshot %s was given %d times", r.snapshot, given)
	}
	spent := 0
	for pod, podUID := range r.pods {
		_, answer := n.ask(n.controller, "GET /v1/restores/"+podUID, "")
		// A Pod that began, and asked again, is Failed: the agent takes its shim for dead.
		if state := answer["state"]; state == "Begun" || state == "Restored" || state == "Failed" {
			spent++
		}
		if r.ended[pod].Load() && answer["state"] != "Restored" {
			n.t.Errorf("Pod %s ended its restore, and the next agent says %v", podUID, answer)
		}
	}
	if spent > 1 || int(r.given.Load()) > spent {
		n.t.Errorf("snapshot %s was given %d times, and the records say %d", r.snapshot, r.given.Load(), spent)
	}
}
