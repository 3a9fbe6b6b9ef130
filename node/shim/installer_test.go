package main_test

import (
	"net/http"
	"testing"

	"sandlot.dev/node/shim/internal/agent"
	"sandlot.dev/node/shim/internal/shimtest"
)

// TestPodGoesOnInWhatTheInstallerInstalled shows that the installer configures all that a Pod, a save and a restore need.
func TestPodGoesOnInWhatTheInstallerInstalled(t *testing.T) {
	node := shimtest.NewInstalledNode(t)
	folder, before := saveAndDelete(t, node)
	a := serveAgent(t, node, http.StatusOK, image(folder))
	restored := node.StartPod(restoredUID, mark)
	if got, want := next(t, a.ends), (agent.Outcome{PodUID: restoredUID, Restored: true}); got != want {
		t.Errorf("the agent got %+v", got)
	}
	if got := restored.Count(); got < before {
		t.Errorf("the count began anew: %d after %d", got, before)
	}
}
