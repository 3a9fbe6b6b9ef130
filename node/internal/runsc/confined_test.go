package runsc_test

import (
	"os"
	"path/filepath"
	"testing"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
)

// TestTheAgentNeedsNoRightsOnItsNode runs the commands of the agent as its Pod does: as root without a capability, and in
// namespaces of its own. The chart gives it no more.
func TestTheAgentNeedsNoRightsOnItsNode(t *testing.T) {
	r := runsctest.NewRuntime(t)
	pod := r.StartPod(analyst)
	confined := r.Runsc
	confined.Binary = confine(t, r.Binary)
	expectStatus(t, confined, runsc.Running)
	if bytes, err := confined.Usage(t.Context(), pod.Sandbox); err != nil || bytes == 0 {
		t.Errorf("usage: %d, %v", bytes, err)
	}
	if err := confined.Pause(t.Context(), pod.Sandbox, nil); err != nil {
		t.Fatal(err)
	}
	expectStatus(t, confined, runsc.Paused)
	folder := filepath.Join(t.TempDir(), "image")
	if err := confined.Checkpoint(t.Context(), pod.Sandbox, runsc.CheckpointOptions{Folder: folder, LeaveRunning: true}); err != nil {
		t.Fatal(err)
	}
	if !pod.StandsStill() {
		t.Error("it goes on")
	}
	if err := confined.Resume(t.Context(), pod.Sandbox); err != nil {
		t.Fatal(err)
	}
	pod.GoesOn()
	if _, err := confined.Fingerprint(t.Context()); err != nil {
		t.Error(err)
	}
	pod.Delete()
	if _, err := confined.FindPod(t.Context(), analyst); err == nil {
		t.Error("a Pod that has ended is found")
	}
}

func expectStatus(t *testing.T, r runsc.Runsc, status string) {
	t.Helper()
	if pod, err := r.FindPod(t.Context(), analyst); err != nil || pod.Status != status {
		t.Errorf("got %+v, %v; want %s", pod, err, status)
	}
}

// confine returns a program that runs binary with the rights of the agent's Pod.
func confine(t *testing.T, binary string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "confined")
	script := "#!/bin/sh\nexec unshare --pid --fork --mount-proc --net --uts --ipc " +
		"setpriv --bounding-set=-all --inh-caps=-all --no-new-privs " + binary + ` "$@"` + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
