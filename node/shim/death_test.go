package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sandlot.dev/node/shim/internal/pod"
	"sandlot.dev/node/shim/internal/shimtest"
)

// outcome is what becomes of a Pod in whose restore something dies.
type outcome string

const (
	// goesOn: its memory goes on, in its first sandbox or in the second, which the kubelet makes after a failure.
	goesOn outcome = "goes on"
	// ends: its memory is used up, so that the controller has to start another Pod, without it.
	ends outcome = "ends"
	// either: a death that comes late may find the memory going on, and end it, or be too early for it.
	either outcome = "either"
)

// death is one of gVisor's program, a shim, the sandbox or the agent, at one step of a restore.
type death struct {
	name string
	// script is what the shims run in place of gVisor, agentDies a moment of the agent.
	script, agentDies string
	// early kills while the shim waits for the announcement.
	early func(*deathbed)
	want  outcome
}

var deaths = []death{
	{name: "runsc before the restore", script: `if [ $verb = restore ] && once; then kill -9 $$; fi`, want: ends},
	{name: "runsc in the restore", script: `if [ $verb = restore ] && once; then begin "$@"; kill -9 $pid $$; fi`, want: ends},
	{name: "runsc after the restore", script: `if [ $verb = restore ] && once; then run "$@"; kill -9 $$; fi`, want: ends},
	{name: "runsc before the last start", script: `if [ $verb = start ] && once; then kill -9 $$; fi`, want: ends},
	{name: "runsc after the last start", script: `if [ $verb = start ] && once; then run "$@"; kill -9 $$; fi`, want: either},
	{name: "runsc after the end", script: `if [ $verb = wait ] && once; then run "$@"; kill -9 $$; fi`, want: either},

	{name: "the shim before it is announced", early: func(b *deathbed) { b.node.KillShims() }, want: either},
	{name: "the shim before the restore", script: `if [ $verb = restore ] && once; then kill -9 $PPID; fi`, want: ends},
	{name: "the shim in the restore", script: `if [ $verb = restore ] && once; then begin "$@"; kill -9 $pid $PPID $$; fi`, want: ends},
	{name: "the shim after the restore", script: `if [ $verb = restore ] && once; then run "$@"; kill -9 $PPID $$; fi`, want: ends},
	{name: "the other shim before the last start", script: `if [ $verb = start ] && once; then kill -9 $PPID; fi`, want: ends},
	// What a dead shim asked of gVisor may still happen.
	{name: "the shim before the restore, which goes on", script: `if [ $verb = restore ] && once; then kill -9 $PPID; fi`, want: ends},
	{name: "the other shim before the last start, which goes on", script: `if [ $verb = start ] && once; then kill -9 $PPID; fi`, want: ends},
	{name: "the other shim after the last start", script: `if [ $verb = start ] && once; then run "$@"; kill -9 $PPID $$; fi`, want: either},
	{name: "the shim before its report", script: `if [ $verb = wait ] && once; then run "$@"; kill -9 $PPID $$; fi`, want: either},

	{name: "the sandbox in the restore", script: `if [ $verb = restore ] && once; then begin "$@"; killSandbox; fi`, want: ends},
	{name: "the sandbox before the last start", script: `if [ $verb = start ] && once; then killSandbox; fi`, want: ends},
	{name: "the sandbox after the end", script: `if [ $verb = wait ] && once; then run "$@"; killSandbox; exit 0; fi`, want: either},

	{name: "the agent before it is announced", early: func(b *deathbed) { b.agent.Kill() }, want: goesOn},
	{name: "the agent before it hears of the Pod", agentDies: "before /v1/begin", want: goesOn},
	{name: "the agent after it gave the memory", agentDies: "after /v1/begin", want: ends},
	{name: "the agent in the restore", script: `if [ $verb = restore ] && once; then begin "$@"; killAgent; wait $pid; exit; fi`, want: goesOn},
	{name: "the agent before it hears of the end", agentDies: "before /v1/end", want: goesOn},
	{name: "the agent after it recorded the end", agentDies: "after /v1/end", want: goesOn},
}

// deathbed is a node with a snapshot that each restore gets a copy of.
type deathbed struct {
	t     *testing.T
	node  *shimtest.Node
	agent *shimtest.Agent
	// count is that of the program when it was saved.
	count int
}

// Whatever is killed with SIGKILL at whatever step of a restore, the Pod goes on from its memory once, or not at all, and then
// nothing of it is left; and no other Pod gets its memory.
func TestDeathAtEveryStepOfARestore(t *testing.T) {
	b := newDeathbed(t)
	for i, row := range deaths {
		t.Run(row.name, func(t *testing.T) {
			b.t = t
			b.play(row, fmt.Sprintf("%08d", i+1))
		})
	}
}

func newDeathbed(t *testing.T) *deathbed {
	node := shimtest.NewWrappedNode(t)
	b := &deathbed{t: t, node: node, agent: node.RunAgent()}
	source := node.StartPod(savedUID, nil)
	// Enough that its load is seen under way.
	source.Exec("sh", "-c", "echo kept > /tmp/note; busybox dd if=/dev/urandom of=/tmp/random bs=1M count=32")
	node.WaitFor("count of 20", func() bool { return source.Count() >= 20 })
	b.count = source.Count()
	b.agent.Expect("PUT /v1/snapshots/team/"+snapshotUID,
		`{"source":{"sandboxName":"analyst","sandboxUid":"`+otherUID+`","podName":"analyst-1","podUid":"`+savedUID+`"},"mode":"Snapshot"}`)
	b.clear()
	return b
}

// clear removes the Pod, and expects that nothing of it runs on.
func (b *deathbed) clear() {
	b.t.Helper()
	b.node.RemovePods()
	b.node.WaitFor("end of the Pod's processes", func() bool { return len(b.node.Processes()) == 0 })
	if left := b.node.States(); len(left) > 0 {
		b.t.Errorf("gVisor still knows %v", left)
	}
}

func (b *deathbed) play(row death, number string) {
	copyUID, podUID, rivalUID := number+"-0000-4000-8000-000000000001", number+"-0000-4000-8000-000000000002", number+"-0000-4000-8000-000000000003"
	b.agent.Expect("PUT /v1/copies/team/"+copyUID, `{"from":"`+snapshotUID+`"}`)
	b.node.Wrap(row.script)
	b.agent.DieAt(row.agentDies)
	announce := func() { b.agent.Expect("PUT /v1/restores/"+podUID, announcement(copyUID)) }
	lives := 0
	// The second sandbox is the one that the kubelet makes when the first has ended or has not started.
	for sandbox := range 2 {
		if sandbox == 0 && row.early != nil {
			b.tryEarly(podUID, copyUID, func() {
				row.early(b)
				announce()
			})
			continue
		}
		announce()
		lives += b.try(podUID, copyUID, row.want)
	}
	_, answer := b.agent.Ask("GET /v1/restores/"+podUID, "")
	state := answer["state"]
	if lives > 1 || row.want == goesOn && (lives == 0 || state != "Restored") || row.want == ends && (lives > 0 || state != "Failed") {
		b.t.Errorf("the memory went on %d times, and the restore is %v; want that it %s", lives, answer, row.want)
	}
	if state != "Restored" && state != "Failed" {
		b.t.Errorf("the controller would wait for ever: %v", answer)
	}
	if status, answer := b.agent.Ask("PUT /v1/restores/"+rivalUID, announcement(copyUID)); status != http.StatusConflict {
		b.t.Errorf("another Pod may have its memory: %d %v", status, answer)
	}
}

// tryEarly makes a sandbox for the Pod, and kills while its shim waits for the announcement.
func (b *deathbed) tryEarly(podUID, snapshot string, kill func()) {
	b.t.Helper()
	asked, done := b.agent.Asked.Load(), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.run(podUID, snapshot)
	}()
	b.node.WaitFor("shim that asks", func() bool { return b.agent.Asked.Load() > asked })
	kill()
	<-done
	b.clear()
}

// try makes a sandbox for the Pod and removes it. It returns 1 if the memory went on in it.
func (b *deathbed) try(podUID, snapshot string, want outcome) (lives int) {
	b.t.Helper()
	defer b.clear()
	started, err := b.run(podUID, snapshot)
	if err != nil || strings.TrimSpace(started.Exec("busybox", "cat", "/tmp/note")) != "kept" {
		return 0
	}
	// Otherwise the removal of the Pod could come before the report.
	b.agent.Ask("GET /v1/restores/"+podUID+"?waitSeconds=20", "")
	if count := started.Count(); want == goesOn && count < b.count {
		b.t.Errorf("the count began anew: %d after %d", count, b.count)
	}
	return 1
}

func (b *deathbed) run(podUID, snapshot string) (*shimtest.Pod, error) {
	started, err := b.node.RunPod(podUID, map[string]string{pod.RestoreAnnotation: snapshot})
	if err == nil {
		err = started.StartWorker(shimtest.Worker)
	}
	return started, err
}

func announcement(snapshot string) string {
	return `{"namespace":"team","podName":"analyst-1","snapshotUid":"` + snapshot + `"}`
}
