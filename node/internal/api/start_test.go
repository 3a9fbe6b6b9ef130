package api_test

import (
	"strings"
	"testing"
)

const shimStart = "POST http://node/v1/start"

func start(podUID string) string { return `{"podUid":"` + podUID + `"}` }

func TestPodStartsWithoutItsMemoryOnlyIfNoHibernationHasIt(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	n.expect(n.shim, shimStart, start(podUID), ok(204))
	n.expect(c, "PUT "+snapshotPath, hibernate, ok(200))
	refused := n.expect(n.shim, shimStart, start(podUID), code(409, "Hibernated"))
	if !strings.Contains(refused.text("message"), snapshotUID) {
		t.Errorf("it does not name the snapshot: %v", refused.body)
	}
	n.expect(n.shim, shimStart, start(otherUID), ok(204))
	n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	n.expect(n.shim, shimStart, start(podUID), ok(204))
}

func TestPodWhoseSandboxWentOnElsewhereStandsStill(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	n.expect(c, "PUT "+snapshotPath, hibernate, ok(200))
	for _, query := range []string{"?pod=", "?pod=go", "?pod=stay&pod=stay", "?Pod=stay"} {
		n.expect(c, "DELETE "+snapshotPath+query, "", code(400, "Invalid"))
	}
	n.expect(c, "GET "+snapshotPath, "", ok(200))
	for range 2 {
		n.expect(c, "DELETE "+snapshotPath+"?pod=stay", "", ok(204))
	}
	n.expect(c, "GET "+snapshotPath, "", code(404, "Absent"))
	if n.podStatus() != "paused" {
		t.Error("the Pod goes on")
	}
	n.expect(n.shim, shimStart, start(podUID), code(409, "Retired"))
	n.expect(n.shim, shimStart, start(otherUID), ok(204))
}

func TestPodStartsBesideASnapshotOfIt(t *testing.T) {
	n := newNode(t)
	n.expect(n.controller(), "PUT "+snapshotPath, strings.Replace(hibernate, "Hibernate", "Snapshot", 1), ok(200))
	n.expect(n.shim, shimStart, start(podUID), ok(204))
	n.expect(n.shim, shimStart, start("../etc"), code(400, "Invalid"))
	n.expect(n.controller(), "POST /v1/start", start(podUID), code(404, "NotFound"))
}
