package main_test

import (
	"syscall"
	"testing"

	"sandlot.dev/node/shim/internal/shimtest"
)

// startThree starts a Pod with a pause container and two others, in cgroups.
func startThree(t *testing.T, node *shimtest.Node) (started *shimtest.Pod, workers []string) {
	t.Helper()
	started, err := node.RunPod(savedUID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"second", shimtest.Worker} {
		if err := started.StartWorker(name); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, started.Worker)
	}
	if len(node.Cgroups()) == 0 || len(node.States()) != 3 {
		t.Fatalf("the Pod has the cgroups %v and the states %v", node.Cgroups(), node.States())
	}
	return started, workers
}

// gVisor gives up on a cgroup that another one is in, and leaves it for ever.
func expectNothingLeft(t *testing.T, node *shimtest.Node) {
	t.Helper()
	if left := append(node.Cgroups(), node.States()...); len(left) > 0 {
		t.Errorf("the end of the sandbox leaves %v", left)
	}
}

// expectDeletion fails the test if containerd does not hear of the containers' end, or cannot delete the Pod.
func expectDeletion(t *testing.T, node *shimtest.Node, ended *shimtest.Pod, workers []string) {
	t.Helper()
	for _, worker := range workers {
		node.WaitFor("report that container "+worker+" has ended", func() bool { return node.HasExited(worker) })
	}
	if err := ended.Delete(); err != nil {
		t.Error(err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
	node.ExpectLogWithout("TaskExit event", "is not deleted completely", "does not end", "may delete a container")
}

func TestEndOfPausedPodLeavesNoCgroupAndNoState(t *testing.T) {
	node := shimtest.NewNodeWithCgroups(t)
	still, workers := startThree(t, node)
	still.Pause()
	if err := node.Kill(syscall.SIGTERM, workers[0]); err != nil {
		t.Errorf("a container of a paused Pod does not end: %v", err)
	}
	expectNothingLeft(t, node)
	expectDeletion(t, node, still, workers)
}

func TestAllShimsOfPausedPodMayEndItAtOnce(t *testing.T) {
	node := shimtest.NewNodeWithCgroups(t)
	still, workers := startThree(t, node)
	still.Pause()
	if err := node.Kill(syscall.SIGKILL, append([]string{still.Sandbox}, workers...)...); err != nil {
		t.Errorf("the containers of a paused Pod do not end: %v", err)
	}
	expectNothingLeft(t, node)
	expectDeletion(t, node, still, workers)
}
