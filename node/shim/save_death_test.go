package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sandlot.dev/node/shim/internal/shimtest"
)

// moment is a step of a save at which a process of the Pod is killed.
type moment struct {
	name string
	// agentScript is what the agent runs in place of gVisor, shimScript what the shims run. It meets the test at the moment.
	agentScript, shimScript string
	modes                   []string
	// isSaved means that the snapshot is there: it must stay. Only a Snapshot is dropped after the death of doubts, because the
	// agent cannot tell whether that came before the save.
	isSaved bool
	doubts  string
	// spares is a victim that has ended before.
	spares string
}

const (
	hibernate = "Hibernate"
	keepOn    = "Snapshot"
)

var moments = []moment{
	{name: "before the pause", modes: []string{hibernate}, agentScript: `if [ $verb = pause ]; then meet; fi`},
	{name: "after the pause", modes: []string{hibernate}, agentScript: `if [ $verb = pause ]; then run "$@"; code=$?; meet; exit $code; fi`},
	{name: "before the checkpoint", modes: []string{keepOn}, agentScript: `if [ $verb = checkpoint ]; then meet; fi`},
	{name: "in the checkpoint", modes: []string{hibernate, keepOn}, agentScript: `if [ $verb = checkpoint ]; then begin "$@"; meet; wait $pid; exit; fi`},
	{name: "after the checkpoint", modes: []string{hibernate, keepOn}, isSaved: true, doubts: "the shim of a container", agentScript: `if [ $verb = checkpoint ]; then run "$@"; code=$?; meet; exit $code; fi`},
	{name: "after the save", modes: []string{hibernate, keepOn}, isSaved: true},
	{name: "before the end of the Pod", modes: []string{hibernate}, isSaved: true, shimScript: `if [ $verb = state ] && once; then meet; fi`},
	{name: "in the deletion of the Pod", modes: []string{hibernate}, isSaved: true, spares: "the sandbox", shimScript: `if [ $verb = delete ] && once; then meet; fi`},
}

// victims are the processes of a Pod, except for the gofers: without these gVisor ends the containers, at once or when they go on.
var victims = map[string]func(*shimtest.Node, *shimtest.Pod){
	"the shim of the Pod":     func(n *shimtest.Node, p *shimtest.Pod) { n.KillShimOf(p.Sandbox) },
	"the shim of a container": func(n *shimtest.Node, p *shimtest.Pod) { n.KillShimOf(p.Worker) },
	"the sandbox":             func(n *shimtest.Node, _ *shimtest.Pod) { n.KillSandbox() },
}

// saving is one save in which something is killed.
type saving struct {
	*deathbed
	saved               *shimtest.Pod
	podUID, snapshotUID string
	mode                string
	// mustBeSaved means that the save must succeed.
	mustBeSaved bool
	count       int
}

// Whatever process of a Pod is killed with SIGKILL at whatever step of a save, the Pod goes on, or has ended. There is no
// snapshot, or a whole one, which goes on once.
func TestDeathAtEveryStepOfASave(t *testing.T) {
	node := shimtest.NewWrappedNode(t)
	b := &deathbed{t: t, node: node, agent: node.RunAgent()}
	number := 0
	for _, at := range moments {
		for _, mode := range at.modes {
			for victim, kill := range victims {
				if victim == at.spares {
					continue
				}
				number++
				t.Run(strings.Join([]string{victim, at.name, mode}, ", "), func(t *testing.T) {
					b.t = t
					s := b.startSaving(fmt.Sprintf("%08d", number), mode)
					s.mustBeSaved = at.isSaved && (mode == hibernate || victim != at.doubts)
					s.play(at, func() { kill(node, s.saved) })
				})
			}
		}
	}
}

func (b *deathbed) startSaving(number, mode string) *saving {
	s := &saving{deathbed: b, podUID: number + "-0000-4000-8000-000000000001", snapshotUID: number + "-0000-4000-8000-000000000002", mode: mode}
	s.saved = b.node.StartPod(s.podUID, nil)
	s.saved.Exec("sh", "-c", "echo kept > /tmp/note; busybox dd if=/dev/urandom of=/tmp/random bs=1M count=16")
	s.count = s.saved.Count()
	return s
}

func (s *saving) play(at moment, kill func()) {
	s.t.Helper()
	s.node.WrapAgent(at.agentScript)
	s.node.Wrap(at.shimScript)
	answered := make(chan int, 1)
	go func() { answered <- s.save() }()
	if at.agentScript != "" {
		s.node.Meet(kill)
	}
	isSaved := <-answered == http.StatusOK
	s.node.WrapAgent("")
	if at.agentScript == "" {
		s.killAfterwards(at, kill)
	}
	if s.mustBeSaved && !isSaved || isSaved != s.agent.HasSnapshot("team", s.snapshotUID) || len(s.agent.Remains()) > 0 {
		s.t.Errorf("saved: %v; the agent has the remains %v", isSaved, s.agent.Remains())
	}
	s.t.Logf("saved: %v; the Pod %s", isSaved, s.judgePod(isSaved))
	s.clear()
	if isSaved && s.mode == hibernate {
		s.expectNoOtherStart()
	}
	if isSaved {
		s.expectOneLife()
	}
}

// expectNoOtherStart expects that the Pod does not start anew, as the kubelet would have it, while its memory is saved.
func (s *saving) expectNoOtherStart() {
	s.t.Helper()
	if _, err := s.node.RunPod(s.podUID, nil); err == nil || !strings.Contains(err.Error(), "Hibernated") {
		s.t.Errorf("the Pod starts anew beside its saved memory: %v", err)
	}
	s.clear()
}

// killAfterwards kills when the save has ended, or while the Pod is deleted.
func (s *saving) killAfterwards(at moment, kill func()) {
	s.t.Helper()
	defer s.node.Wrap("")
	if at.shimScript == "" {
		kill()
		return
	}
	deleted := make(chan struct{})
	go func() {
		defer close(deleted)
		s.node.RemovePods()
	}()
	s.node.Meet(kill)
	<-deleted
}

func (s *saving) save() int {
	status, answer := s.agent.Ask("PUT /v1/snapshots/team/"+s.snapshotUID,
		`{"source":{"sandboxName":"analyst","sandboxUid":"`+otherUID+`","podName":"analyst-1","podUid":"`+s.podUID+`"},"mode":"`+s.mode+`"}`)
	if status != http.StatusOK {
		s.t.Logf("the agent answered %d %v", status, answer)
	}
	return status
}

// judgePod expects that the Pod goes on or has ended, or stands still for its hibernation.
func (s *saving) judgePod(isSaved bool) string {
	s.t.Helper()
	how := ""
	s.node.WaitFor("Pod that goes on, stands still for its hibernation, or has ended", func() bool {
		switch {
		case s.node.HasExited(s.saved.Worker):
			how = "ended"
		case isSaved && s.mode == hibernate:
			how = "stands still"
		case s.saved.Count() > s.count:
			how = "goes on"
		}
		return how != ""
	})
	return how
}

// expectOneLife expects that one Pod goes on from the snapshot, and no second one.
func (s *saving) expectOneLife() {
	s.t.Helper()
	next, rival := strings.Replace(s.podUID, "4000", "4001", 1), strings.Replace(s.podUID, "4000", "4002", 1)
	s.agent.Expect("PUT /v1/restores/"+next, announcement(s.snapshotUID))
	started, err := s.run(next, s.snapshotUID)
	if err != nil {
		s.t.Fatalf("the snapshot does not go on: %v", err)
	}
	if note := strings.TrimSpace(started.Exec("busybox", "cat", "/tmp/note")); note != "kept" || started.Count() < s.count {
		s.t.Errorf("the snapshot went on with the note %q and the count %d after %d", note, started.Count(), s.count)
	}
	if status, answer := s.agent.Ask("PUT /v1/restores/"+rival, announcement(s.snapshotUID)); status != http.StatusConflict {
		s.t.Errorf("another Pod may have its memory: %d %v", status, answer)
	}
	s.clear()
}
