package main_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandlot.dev/node/shim/internal/agent"
	"sandlot.dev/node/shim/internal/pod"
	"sandlot.dev/node/shim/internal/shimtest"
)

const (
	savedUID    = "0f8fad5b-d9cb-469f-a165-70867728950e"
	restoredUID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
	otherUID    = "11111111-7dec-11d0-a765-00a0c91e6bf6"
	snapshotUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
)

var mark = map[string]string{pod.RestoreAnnotation: snapshotUID}

// nodeAgent answers every shim alike and keeps what it is asked.
type nodeAgent struct {
	begins chan agent.Restore
	ends   chan agent.Outcome
	starts chan string
	status int
	answer any
	// stop may be called twice.
	stop func()
}

// serveAgent stands for the node agent, whose own tests are elsewhere: it says what the test wants.
func serveAgent(t *testing.T, node *shimtest.Node, status int, answer any) *nodeAgent {
	t.Helper()
	a := &nodeAgent{begins: make(chan agent.Restore, 8), ends: make(chan agent.Outcome, 8), starts: make(chan string, 8), status: status, answer: answer}
	listener, err := net.Listen("unix", node.Socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/begin", func(w http.ResponseWriter, r *http.Request) {
		a.begins <- read[agent.Restore](t, r)
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(a.answer)
	})
	mux.HandleFunc("POST /v1/end", func(w http.ResponseWriter, r *http.Request) {
		a.ends <- read[agent.Outcome](t, r)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/start", func(w http.ResponseWriter, r *http.Request) {
		a.starts <- read[map[string]string](t, r)["podUid"]
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(a.answer)
	})
	server := &http.Server{Handler: mux}
	a.stop = func() { _ = server.Close() }
	t.Cleanup(a.stop)
	go func() { _ = server.Serve(listener) }()
	return a
}

func read[T any](t *testing.T, r *http.Request) T {
	var value T
	if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
		t.Error(err)
	}
	return value
}

// next returns the next call that reached the agent.
func next[T any](t *testing.T, calls <-chan T) T {
	t.Helper()
	select {
	case value := <-calls:
		return value
	case <-time.After(shimtest.Patience):
		t.Fatal("the agent hears nothing")
		panic("unreachable")
	}
}

func (a *nodeAgent) expectSilence(t *testing.T) {
	t.Helper()
	if len(a.begins)+len(a.starts)+len(a.ends) > 0 {
		t.Errorf("the agent got %d begins and starts, and %d ends", len(a.begins)+len(a.starts), len(a.ends))
	}
}

// image is the agent's answer with a snapshot.
func image(folder string) map[string]any {
	return map[string]any{"imagePath": folder, "background": true, "direct": false}
}

func refusal(code, message string) map[string]string {
	return map[string]string{"code": code, "message": message}
}

// saveAndDelete makes a snapshot of a Pod that counted to 20 and deletes the Pod while it stands still.
func saveAndDelete(t *testing.T, node *shimtest.Node) (folder string, counted int) {
	t.Helper()
	source := node.StartPod(savedUID, nil)
	source.Exec("sh", "-c", "echo kept > /tmp/note")
	node.WaitFor("count of 20", func() bool { return source.Count() >= 20 })
	counted = source.Count()
	folder = source.Save()
	if err := source.StopWorker(); err != nil {
		t.Errorf("a paused container does not stop: %v", err)
	}
	if err := source.Delete(); err != nil {
		t.Error(err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
	return folder, counted
}

func TestPodGoesOnInAnotherPod(t *testing.T) {
	node := shimtest.NewNode(t)
	folder, before := saveAndDelete(t, node)
	a := serveAgent(t, node, http.StatusOK, image(folder))

	restored := node.StartPod(restoredUID, mark)
	want := agent.Restore{Namespace: "team", PodName: "analyst-1", PodUID: restoredUID, SnapshotUID: snapshotUID}
	if got := next(t, a.begins); got != want {
		t.Errorf("the agent is asked for %+v", got)
	}
	if got, want := next(t, a.ends), (agent.Outcome{PodUID: restoredUID, Restored: true}); got != want {
		t.Errorf("the agent got %+v", got)
	}
	if got := restored.Count(); got < before {
		t.Errorf("the count began anew: %d after %d", got, before)
	}
	if got := strings.TrimSpace(restored.Exec("busybox", "cat", "/tmp/note")); got != "kept" {
		t.Errorf("the file has %q", got)
	}
	count := restored.Count()
	node.WaitFor("a higher count", func() bool { return restored.Count() > count })
	if err := restored.Delete(); err != nil {
		t.Error(err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
	a.expectSilence(t)
}

func TestPodWithoutTheMarkDoesNotAsk(t *testing.T) {
	node := shimtest.NewNode(t)
	a := serveAgent(t, node, http.StatusOK, image("/nowhere"))
	plain := node.StartPod(savedUID, map[string]string{"sandlot.dev/restore": snapshotUID})
	if err := plain.Delete(); err != nil {
		t.Error(err)
	}
	a.expectSilence(t)
}

func TestRefusalFailsTheStartAndLeavesNothing(t *testing.T) {
	node := shimtest.NewNode(t)
	a := serveAgent(t, node, http.StatusForbidden, refusal("NotAnnounced", "nothing was announced"))
	_, err := node.RunPod(restoredUID, mark)
	if err == nil || !strings.Contains(err.Error(), "start Pod team/analyst-1 from SandboxSnapshot "+snapshotUID) || !strings.Contains(err.Error(), "nothing was announced") {
		t.Errorf("got %v", err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
	next(t, a.begins)
	a.expectSilence(t)
}

func TestUnreadableSnapshotIsReported(t *testing.T) {
	node := shimtest.NewNode(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "checkpoint.img"), []byte("no snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := serveAgent(t, node, http.StatusOK, image(folder))
	if _, err := node.RunPod(restoredUID, mark); err == nil || !strings.Contains(err.Error(), "restore Pod team/analyst-1 from SandboxSnapshot "+snapshotUID) {
		t.Errorf("got %v", err)
	}
	if got := next(t, a.ends); got.Restored || got.PodUID != restoredUID || got.Message == "" {
		t.Errorf("the agent got %+v", got)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
}

func TestContainerThatIsNotInTheSnapshotIsReported(t *testing.T) {
	node := shimtest.NewNode(t)
	folder, _ := saveAndDelete(t, node)
	a := serveAgent(t, node, http.StatusOK, image(folder))
	restored, err := node.RunPod(restoredUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.StartWorker("stranger"); err == nil {
		t.Error("it starts")
	}
	if got := next(t, a.ends); got.Restored || got.Message == "" {
		t.Errorf("the agent got %+v", got)
	}
}

func TestPodThatEndsBeforeItIsRestoredIsReported(t *testing.T) {
	node := shimtest.NewNode(t)
	folder, _ := saveAndDelete(t, node)
	a := serveAgent(t, node, http.StatusOK, image(folder))
	restored, err := node.RunPod(restoredUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.Delete(); err != nil {
		t.Error(err)
	}
	if got := next(t, a.ends); got.Restored || got.Message == "" {
		t.Errorf("the agent got %+v", got)
	}
}

func TestPodOfSeveralContainersIsRestoredWithTheLastAndCanEndBefore(t *testing.T) {
	node := shimtest.NewNode(t)
	source, err := node.RunPod(savedUID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"second", shimtest.Worker} {
		if err := source.StartWorker(name); err != nil {
			t.Fatal(err)
		}
	}
	node.WaitFor("count of 20", func() bool { return source.Count() >= 20 })
	before := source.Count()
	folder := source.Save()
	if err := source.Delete(); err != nil {
		t.Error(err)
	}
	a := serveAgent(t, node, http.StatusOK, image(folder))

	half, err := node.RunPod(otherUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := half.StartWorker(shimtest.Worker); err != nil {
		t.Fatal(err)
	}
	if err := half.StopWorker(); err != nil {
		t.Errorf("a container that waits for the others does not stop: %v", err)
	}
	if got := next(t, a.ends); got.Restored || got.PodUID != otherUID {
		t.Errorf("the agent got %+v", got)
	}
	if err := half.Delete(); err != nil {
		t.Error(err)
	}
	node.WaitFor("end of the Pods' processes", func() bool { return len(node.Processes()) == 0 })

	whole, err := node.RunPod(restoredUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"second", shimtest.Worker} {
		if err := whole.StartWorker(name); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := next(t, a.ends), (agent.Outcome{PodUID: restoredUID, Restored: true}); got != want {
		t.Errorf("the agent got %+v", got)
	}
	if got := whole.Count(); got < before {
		t.Errorf("the count began anew: %d after %d", got, before)
	}
}

func TestRestoredPodWhoseSandboxEndsStartsAnew(t *testing.T) {
	node := shimtest.NewNode(t)
	folder, before := saveAndDelete(t, node)
	a := serveAgent(t, node, http.StatusOK, image(folder))
	restored := node.StartPod(restoredUID, mark)
	next(t, a.begins)
	next(t, a.ends)
	if err := restored.Delete(); err != nil {
		t.Error(err)
	}
	// The kubelet makes another sandbox for the same Pod.
	if count := node.StartPod(restoredUID, mark).Count(); count >= before {
		t.Errorf("it goes on from the snapshot: %d after %d", count, before)
	}
	if got := next(t, a.starts); got != restoredUID {
		t.Errorf("the agent is asked for Pod %s", got)
	}
	a.expectSilence(t)
}

func TestPausedPodIsDeleted(t *testing.T) {
	node := shimtest.NewNode(t)
	still := node.StartPod(savedUID, nil)
	still.Pause()
	if err := still.Delete(); err != nil {
		t.Error(err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
}

func TestPodThatEndedWhilePausedStartsOnlyIfTheAgentLetsIt(t *testing.T) {
	node := shimtest.NewNode(t)
	saveAndDelete(t, node)
	refusing := serveAgent(t, node, http.StatusConflict, refusal("Hibernated", "it is hibernated"))
	if _, err := node.RunPod(savedUID, nil); err == nil || !strings.Contains(err.Error(), "start Pod team/analyst-1, whose sandbox ended while it was paused: ") || !strings.Contains(err.Error(), "it is hibernated") {
		t.Errorf("got %v", err)
	}
	if got := next(t, refusing.starts); got != savedUID {
		t.Errorf("the agent is asked for Pod %s", got)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
	refusing.stop()

	letting := serveAgent(t, node, http.StatusOK, nil)
	if err := node.StartPod(savedUID, nil).Delete(); err != nil {
		t.Error(err)
	}
	next(t, letting.starts)
	letting.stop()

	// On a node that saves no Pods any more a Pod starts anew as without hibernation.
	node.StartPod(savedUID, nil)
	letting.expectSilence(t)
}

// After a restart of the node there is no socket until the agent runs again. A hibernation may have the memory of the Pod.
func TestPodThatBeganBesideAnAgentWaitsForItAfterARestartOfTheNode(t *testing.T) {
	node := shimtest.NewNode(t)
	before := serveAgent(t, node, http.StatusOK, nil)
	if err := node.StartPod(savedUID, nil).Delete(); err != nil {
		t.Error(err)
	}
	before.stop()
	if _, err := node.RunPod(savedUID, nil); err == nil || !strings.Contains(err.Error(), "start Pod team/analyst-1, which had a sandbox before: no node agent answers") {
		t.Errorf("got %v", err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
	after := serveAgent(t, node, http.StatusOK, nil)
	if err := node.StartPod(savedUID, nil).Delete(); err != nil {
		t.Error(err)
	}
	if got := next(t, after.starts); got != savedUID {
		t.Errorf("the agent is asked for Pod %s", got)
	}
}
