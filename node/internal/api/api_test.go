package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sandlot.dev/node/internal/store"
	"sandlot.dev/node/internal/storetest"
)

const (
	snapshotPath = "/v1/snapshots/team/" + snapshotUID
	restorePath  = "/v1/restores/" + otherUID
	source       = `"source":{"sandboxName":"analyst","sandboxUid":"` + otherUID + `","podName":"analyst-1","podUid":"` + podUID + `"}`
	hibernate    = `{` + source + `,"mode":"Hibernate"}`
	snapshot     = `{` + source + `,"mode":"Snapshot"}`
	announcement = `{"namespace":"team","podName":"analyst-2","snapshotUid":"` + snapshotUID + `"}`
	begin        = `{"namespace":"team","podName":"analyst-2","podUid":"` + otherUID + `","snapshotUid":"` + snapshotUID + `"}`
	copyPath     = "/v1/copies/team/" + otherUID
	copyBody     = `{"from":"` + snapshotUID + `"}`
	shimBegin    = "POST http://node/v1/begin"
	shimEnd      = "POST http://node/v1/end"
)

func end(restored bool) string {
	return fmt.Sprintf(`{"podUid":%q,"restored":%t,"message":"gone"}`, otherUID, restored)
}

func TestSandboxIsSavedAnnouncedAndBegun(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	node := n.expect(c, "GET /v1/node", "", ok(200))
	if node.text("node") != "node-1" || node.text("saving") != "0" || node.body["freeBytes"].(float64) <= 0 {
		t.Errorf("got %v", node.body)
	}
	saved := n.expect(c, "PUT "+snapshotPath, hibernate, ok(200))
	if saved.text("bytes") != "7" || saved.text("snapshotUid") != snapshotUID || saved.body["machine"].(map[string]any)["hash"] != node.body["fingerprint"].(map[string]any)["hash"] {
		t.Errorf("got %v", saved.body)
	}
	if got := n.expect(c, "GET "+snapshotPath, "", ok(200)); got.text("checksum") != saved.text("checksum") {
		t.Errorf("got %v", got.body)
	}
	if got := n.expect(c, "GET /v1/snapshots", "", ok(200)); len(got.body["snapshots"].([]any)) != 1 {
		t.Errorf("got %v", got.body)
	}
	n.expect(c, "GET "+restorePath, "", code(404, "Absent"))
	for _, body := range []string{announcement, announcement, `{"spare":true,` + announcement[1:]} {
		if got := n.expect(c, "PUT "+restorePath, body, ok(200)); got.text("state") != "Announced" {
			t.Errorf("got %v", got.body)
		}
	}
	want := n.agent.Store.Path(store.Key{Namespace: "team", UID: snapshotUID})
	storetest.Evict(t, want)
	got := n.expect(n.shim, shimBegin, begin, ok(200))
	if got.text("imagePath") != want || got.body["background"] != true || got.body["direct"] != true {
		t.Errorf("got %v", got.body)
	}
	n.expect(c, "DELETE "+restorePath, "", code(409, "Begun"))
	n.expect(n.shim, shimEnd, end(true), ok(204))
	n.expect(n.shim, shimBegin, begin, code(409, "AlreadyBegun"))
	if got := n.expect(c, "GET "+restorePath+"?waitSeconds=20", "", ok(200)); got.text("state") != "Restored" {
		t.Errorf("got %v", got.body)
	}
	for range 2 {
		n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	}
	n.expect(c, "GET "+snapshotPath, "", code(404, "Absent"))
}

func TestHeldPodIsReleased(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	const hold = "POST /v1/holds/team/" + snapshotUID
	n.expect(c, hold, `{"action":"release"}`, code(409, "HoldEnded"))
	n.expect(c, "PUT "+snapshotPath, `{`+source+`,"mode":"Hibernate","holdSeconds":60}`, code(400, "Invalid"))
	n.expect(c, "PUT "+snapshotPath, `{`+source+`,"mode":"Snapshot","holdSeconds":60}`, ok(200))
	if n.podStatus() != "paused" {
		t.Error("the Pod goes on before it is released")
	}
	n.expect(c, hold, `{"action":"extend"}`, code(400, "Invalid"))
	for range 2 {
		if got := n.expect(c, hold, `{"action":"release"}`, ok(200)); got.body["held"] != true {
			t.Errorf("got %v", got.body)
		}
		if n.podStatus() != "running" {
			t.Error("the Pod stands still after its release")
		}
	}
	n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	n.expect(c, hold, `{"action":"release"}`, code(409, "HoldEnded"))
}

func TestSandboxStartsFromACopy(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	saved := n.expect(c, "PUT "+snapshotPath, `{`+source+`,"mode":"Snapshot","mostBytes":4096}`, ok(200))
	for range 2 {
		got := n.expect(c, "PUT "+copyPath, copyBody, ok(200))
		if got.text("snapshotUid") != otherUID || got.text("copyOf") != snapshotUID || got.text("bytes") != saved.text("bytes") ||
			got.text("savedAt") != saved.text("savedAt") || got.text("machine") != saved.text("machine") || got.text("files") != saved.text("files") {
			t.Errorf("got %v; saved was %v", got.body, saved.body)
		}
	}
	if got := n.expect(c, "GET /v1/node", "", ok(200)); got.text("usedBytes") != saved.text("bytes") {
		t.Errorf("the node counts the copy: %v", got.body)
	}
	n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	n.expect(c, "PUT "+restorePath, strings.Replace(announcement, snapshotUID, otherUID, 1), ok(200))
	got := n.expect(n.shim, shimBegin, strings.Replace(begin, snapshotUID, otherUID, 1), ok(200))
	if want := n.agent.Store.Path(store.Key{Namespace: "team", UID: otherUID}); got.text("imagePath") != want {
		t.Errorf("got %v", got.body)
	}
	n.expect(c, "DELETE /v1/snapshots/team/"+otherUID, "", ok(204))
	if n.podStatus() != "running" {
		t.Error("the source does not go on")
	}
	n.expect(c, "PUT "+copyPath, copyBody, code(404, "Absent"))
}

func TestFailuresHaveTheirCodes(t *testing.T) {
	rows := map[string]struct {
		prepare func(n *node)
		line    string
		body    string
		want    answer
	}{
		"a Pod that is not here":     {nil, "PUT " + snapshotPath, strings.Replace(hibernate, podUID, snapshotUID, 1), code(404, "PodAbsent")},
		"a save that fails":          {func(n *node) { n.write("runsc.broken", "", 0o600) }, "PUT " + snapshotPath, hibernate, code(500, "SaveFailed")},
		"a save without room":        {func(n *node) { n.write("runsc.usage", `{"Total": 1000000000000000}`, 0o600) }, "PUT " + snapshotPath, hibernate, code(507, "NoSpace")},
		"a save above its quota":     {nil, "PUT " + snapshotPath, `{"mostBytes":4095,` + hibernate[1:], code(422, "QuotaExceeded")},
		"a copy of what is not here": {nil, "PUT " + copyPath, copyBody, code(404, "Absent")},
		"a copy of a hibernation": {func(n *node) { n.expect(n.controller(), "PUT "+snapshotPath, hibernate, ok(200)) },
			"PUT " + copyPath, copyBody, code(422, "NotShared")},
		"a copy over its source": {func(n *node) { n.expect(n.controller(), "PUT "+snapshotPath, snapshot, ok(200)) },
			"PUT /v1/copies/team/" + snapshotUID, copyBody, code(409, "Conflict")},
		"another mode": {func(n *node) { n.expect(n.controller(), "PUT "+snapshotPath, snapshot, ok(200)) },
			"PUT " + snapshotPath, hibernate, code(409, "Conflict")},
		"an absent snapshot":             {nil, "GET " + snapshotPath, "", code(404, "Absent")},
		"a restore without its snapshot": {nil, "PUT " + restorePath, announcement, code(404, "Absent")},
		"a restore for a second Pod": {func(n *node) {
			n.expect(n.controller(), "PUT "+snapshotPath, snapshot, ok(200))
			n.expect(n.controller(), "PUT "+restorePath, announcement, ok(200))
		}, "PUT /v1/restores/" + podUID, announcement, code(409, "Conflict")},
		"an unknown restore": {nil, "DELETE " + restorePath, "", ok(204)},
		"an unknown route":   {nil, "GET /v1/secrets", "", code(404, "NotFound")},
		"another method":     {nil, "POST " + snapshotPath, hibernate, code(404, "NotFound")},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if row.prepare != nil {
				row.prepare(n)
			}
			got := n.expect(n.controller(), row.line, row.body, row.want)
			if row.want.status >= 400 && got.text("message") == "" {
				t.Errorf("it does not say why: %v", got.body)
			}
		})
	}
}

func TestShimWithoutAnAnnouncementIsRefused(t *testing.T) {
	n := newNode(t)
	n.expect(n.shim, shimBegin, begin, code(403, "NotAnnounced"))
	n.expect(n.shim, shimEnd, end(true), code(404, "Absent"))
	n.expect(n.shim, "GET http://node/v1/node", "", code(404, "NotFound"))
	// The controller cannot play the shim either.
	n.expect(n.controller(), "POST /v1/begin", begin, code(404, "NotFound"))
}

func TestWhatIsNotInTheContractIsRefused(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	path := func(namespace, uid string) string { return "/v1/snapshots/" + namespace + "/" + uid }
	rows := map[string]struct {
		client     *http.Client
		line, body string
		status     int
	}{
		"a field that is unknown":       {c, "PUT " + snapshotPath, `{"imagePath":"/etc",` + hibernate[1:], 400},
		"a field inside":                {c, "PUT " + snapshotPath, strings.Replace(hibernate, `"podName"`, `"path":"/","podName"`, 1), 400},
		"a second value":                {c, "PUT " + snapshotPath, hibernate + hibernate, 400},
		"no body":                       {c, "PUT " + snapshotPath, "", 400},
		"another type":                  {c, "PUT " + snapshotPath, `[]`, 400},
		"unknown contents":              {c, "PUT " + snapshotPath, strings.Replace(hibernate, `"mode"`, `"contents":"Clock","mode"`, 1), 400},
		"an unknown part of a snapshot": {c, "PUT " + restorePath, strings.Replace(announcement, `{`, `{"only":"memory",`, 1), 400},
		"an unknown mode":               {c, "PUT " + snapshotPath, strings.Replace(hibernate, "Hibernate", "hibernate", 1), 400},
		"a body that is too large":      {c, "PUT " + snapshotPath, `{"mode":"` + strings.Repeat("x", 1<<20) + `"}`, 413},
		"a body of a GET":               {c, "GET /v1/node", "{}", 400},
		"a query":                       {c, "GET /v1/node?path=/etc", "", 400},
		"a query of a save":             {c, "PUT " + snapshotPath + "?force=true", hibernate, 400},
		"a namespace that is a path":    {c, "PUT " + path("%2e%2e%2f%2e%2e", snapshotUID), hibernate, 400},
		"a copy of a path":              {c, "PUT " + copyPath, `{"from":"../` + snapshotUID + `"}`, 400},
		"a copy of nothing":             {c, "PUT " + copyPath, `{}`, 400},
		"a copy of another namespace":   {c, "PUT " + copyPath, `{"namespace":"rival","from":"` + snapshotUID + `"}`, 400},
		"a copy that is a path":         {c, "PUT /v1/copies/team/..%2f" + otherUID, copyBody, 400},
		"a copy in a path":              {c, "PUT /v1/copies/%2e%2e/" + otherUID, copyBody, 400},
		"a copy with a query":           {c, "PUT " + copyPath + "?from=" + otherUID, copyBody, 400},
		"a size below zero":             {c, "PUT " + snapshotPath, `{"mostBytes":-1,` + hibernate[1:], 400},
		"a size that is no number":      {c, "PUT " + snapshotPath, `{"mostBytes":"1",` + hibernate[1:], 400},
		"a namespace with capitals":     {c, "PUT " + path("Team", snapshotUID), hibernate, 400},
		"a snapshot that is a path":     {c, "DELETE " + path("team", "..%2f"+snapshotUID), "", 400},
		"a snapshot that is a draft":    {c, "DELETE " + path("team", ".saving-"+snapshotUID), "", 400},
		"a snapshot without a UID":      {c, "GET " + path("team", "mine"), "", 400},
		"a Pod that is a path":          {c, "PUT /v1/restores/..%2f" + otherUID, announcement, 400},
		"a Pod name that is an option":  {c, "PUT " + snapshotPath, strings.Replace(hibernate, "analyst-1", "--root=/", 1), 400},
		"a restore of no namespace":     {c, "PUT " + restorePath, strings.Replace(announcement, "team", "", 1), 400},
		"a wait that is too long":       {c, "GET " + restorePath + "?waitSeconds=61", "", 400},
		"a wait that is no number":      {c, "GET " + restorePath + "?waitSeconds=-1", "", 400},
		"two waits":                     {c, "GET " + restorePath + "?waitSeconds=1&waitSeconds=2", "", 400},
		"a begin with a path":           {n.shim, shimBegin, `{"imagePath":"/etc",` + begin[1:], 400},
		"a begin of a path":             {n.shim, shimBegin, strings.Replace(begin, snapshotUID, "../"+snapshotUID, 1), 400},
		"a begin that is too large":     {n.shim, shimBegin, strings.Repeat(" ", 1<<20) + begin, 413},
		"an end without an outcome":     {n.shim, shimEnd, `{"podUid":"` + otherUID + `"}`, 400},
		"an end of a path":              {n.shim, shimEnd, `{"podUid":"../x","restored":true}`, 400},
		"an end with an unknown field":  {n.shim, shimEnd, `{"podUid":"` + otherUID + `","restored":true,"path":"/"}`, 400},
		"an end that is no JSON object": {n.shim, shimEnd, `true`, 400},
	}
	for name, row := range rows {
		if got := n.ask(row.client, row.line, row.body); got.status != row.status || got.text("code") == "<nil>" {
			t.Errorf("%s: got %d %v", name, got.status, got.body)
		}
	}
	if manifests, damaged := n.agent.Store.List(); len(manifests)+len(damaged) != 0 {
		t.Errorf("the store has %v, %v", manifests, damaged)
	}
}

func (n *node) podStatus() string {
	text, err := os.ReadFile(n.runsc + ".state")
	if err != nil {
		return "running"
	}
	return strings.TrimSpace(string(text))
}

func (n *node) waitFor(what string, isTrue func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); !isTrue(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("no %s", what)
		}
	}
}

func TestDeletionCancelsASaveAndThePodGoesOn(t *testing.T) {
	n := newNode(t)
	if err := syscall.Mkfifo(n.runsc+".gate", 0o600); err != nil {
		t.Fatal(err)
	}
	c := n.controller()
	var group sync.WaitGroup
	group.Go(func() {
		got := n.expect(c, "PUT "+snapshotPath, hibernate, code(500, "SaveFailed"))
		if !strings.Contains(got.text("message"), "cancelled") {
			t.Errorf("got %v", got.body)
		}
	})
	n.waitFor("paused Pod", func() bool { return n.podStatus() == "paused" })
	if got := n.expect(c, "GET /v1/node", "", ok(200)); got.text("saving") != "1" {
		t.Errorf("got %v", got.body)
	}
	second := "/v1/snapshots/team/" + otherUID
	n.expect(c, "PUT "+second, hibernate, code(503, "Busy"))
	// The deletion of another snapshot cancels nothing.
	n.expect(c, "DELETE "+second, "", ok(204))
	if n.podStatus() != "paused" {
		t.Error("the Pod goes on")
	}
	n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	if n.podStatus() != "running" {
		t.Error("the Pod stands still")
	}
	group.Wait()
	if left, err := filepath.Glob(filepath.Join(n.folder, "store", "team", ".*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestPodDoesNotStandStillWithoutItsHibernation(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	n.expect(c, "PUT "+snapshotPath, hibernate, ok(200))
	if n.podStatus() != "paused" {
		t.Fatal("the Pod goes on after its hibernation")
	}
	n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	if n.podStatus() != "running" {
		t.Error("the Pod stands still and nothing will ever wake it")
	}
}

func TestSourceOfASpentHibernationDoesNotGoOn(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	n.expect(c, "PUT "+snapshotPath, hibernate, ok(200))
	n.expect(c, "PUT "+restorePath, announcement, ok(200))
	n.expect(n.shim, shimBegin, begin, ok(200))
	n.expect(c, "DELETE "+snapshotPath, "", ok(204))
	if n.podStatus() != "paused" {
		t.Error("the sandbox goes on twice")
	}
}

func TestPodWhoseTurnDoesNotComeMayAskAgain(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	n.expect(c, "PUT "+snapshotPath, snapshot, ok(200))
	n.expect(c, "PUT "+copyPath, copyBody, ok(200))
	n.expect(c, "PUT "+restorePath, announcement, ok(200))
	n.expect(n.shim, shimBegin, begin, ok(200))
	ofCopy := strings.NewReplacer(otherUID, podUID, snapshotUID, otherUID)
	n.expect(c, "PUT /v1/restores/"+podUID, ofCopy.Replace(announcement), ok(200))
	n.expect(n.shim, shimBegin, ofCopy.Replace(begin), code(429, "Full"))
	n.expect(n.shim, shimEnd, end(true), ok(204))
	n.expect(n.shim, shimBegin, ofCopy.Replace(begin), ok(200))
}

func TestAnswerComesWithTheEndOfTheRestore(t *testing.T) {
	n := newNode(t)
	c := n.controller()
	n.expect(c, "PUT "+snapshotPath, hibernate, ok(200))
	n.expect(c, "PUT "+restorePath, announcement, ok(200))
	n.expect(n.shim, shimBegin, begin, ok(200))
	if got := n.expect(c, "GET "+restorePath, "", ok(200)); got.text("state") != "Begun" {
		t.Errorf("got %v", got.body)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if got := n.expect(c, "GET "+restorePath+"?waitSeconds=60", "", ok(200)); got.text("state") != "Failed" || got.text("message") != "gone" {
			t.Errorf("got %v", got.body)
		}
	})
	n.expect(n.shim, shimEnd, end(false), ok(204))
	n.expect(n.shim, shimEnd, end(true), code(409, "Conflict"))
	group.Wait()
}
