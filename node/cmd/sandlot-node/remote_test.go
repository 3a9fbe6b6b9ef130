package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"sandlot.dev/node/internal/s3test"
)

const (
	uploadPath   = "/v1/uploads/team/" + snapshotUID
	downloadPath = "/v1/downloads/team/" + snapshotUID
	remotePath   = "/v1/remote/team/" + snapshotUID
)

// useBucket makes the agents of the node use the bucket.
func (n *node) useBucket(prefix string) {
	n.t.Helper()
	if err := os.MkdirAll(n.path("s3"), 0o700); err != nil {
		n.t.Fatal(err)
	}
	n.write("s3/access-key-id", s3test.AccessKey, 0o600)
	n.write("s3/secret-access-key", s3test.SecretKey, 0o600)
	n.write("keys", "first MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=\n", 0o600)
	n.more = []string{
		"-s3-endpoint", s3test.Start(n.t), "-s3-bucket", s3test.Bucket, "-s3-prefix", prefix,
		"-s3-credentials", n.path("s3"), "-s3-keys", n.path("keys"),
	}
}

func TestSnapshotGoesToAnotherNodeThroughTheBucket(t *testing.T) {
	source, target := newNode(t), newNode(t)
	for _, n := range []*node{source, target} {
		n.useBucket("cluster-1/node")
		n.start()
	}
	saved := source.expect(source.controller, "PUT "+snapshotPath, strings.Replace(hibernate, "Hibernate", "Snapshot", 1), 200)
	uploaded := source.expect(source.controller, "PUT "+uploadPath, "{}", 200)
	digest, isText := uploaded["digest"].(string)
	if !isText || uploaded["bytes"] != saved["bytes"] || uploaded["snapshotUid"] != snapshotUID {
		t.Fatalf("got %v", uploaded)
	}
	zeros := "sha256:" + strings.Repeat("0", 64)
	body := func(digest string) string { return `{"digest":"` + digest + `"}` }
	target.expect(target.controller, "GET "+remotePath+"?digest="+digest, "", 200)
	if got := target.expect(target.controller, "GET "+remotePath+"?digest="+zeros, "", 422); got["code"] != "RemoteRefused" {
		t.Errorf("got %v", got)
	}
	if got := target.expect(target.controller, "PUT "+downloadPath, body(zeros), 422); got["code"] != "RemoteRefused" {
		t.Errorf("got %v", got)
	}
	target.expect(target.controller, "GET "+snapshotPath, "", 404)
	got := target.expect(target.controller, "PUT "+downloadPath, body(digest), 200)
	if got["bytes"] != saved["bytes"] || got["savedAt"] != saved["savedAt"] {
		t.Errorf("got %v; saved was %v", got, saved)
	}
	target.expect(target.controller, "GET "+snapshotPath, "", 200)
	for range 2 {
		target.expect(target.controller, "DELETE "+remotePath, "", 204)
	}
	target.expect(target.controller, "DELETE "+snapshotPath, "", 204)
	if got := target.expect(target.controller, "PUT "+downloadPath, body(digest), 404); got["code"] != "Absent" {
		t.Errorf("got %v", got)
	}
	for line, body := range map[string]string{
		"PUT " + uploadPath: `{"endpoint":"http://evil"}`, "PUT " + downloadPath: body("md5:0"), "PUT " + downloadPath + "?digest=" + digest: body(digest),
		"GET " + remotePath: "", "GET " + remotePath + "?digest=x": "", "PUT /v1/uploads/%2e%2e/" + snapshotUID: "{}", "DELETE /v1/remote/team/..%2f" + snapshotUID: "",
	} {
		target.expect(target.controller, line, body, 400)
	}
	_, text := target.probe("/metrics")
	for _, line := range []string{
		`sandlot_node_transfers_total{kind="download",result="done"} 1`, `sandlot_node_transfers_total{kind="download",result="refused"} 1`,
		`sandlot_node_transfers_total{kind="delete",result="done"} 2`, `sandlot_node_transferred_bytes_total{kind="download"} 7`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in:\n%s", line, text)
		}
	}
	if code := target.terminate(); code != 0 {
		t.Errorf("the agent ended with %d:\n%s", code, target.log.text())
	}
	for _, secret := range []string{"MDAwMDAw", "secret"} {
		if strings.Contains(source.log.text()+target.log.text(), secret+"\"") || strings.Contains(target.log.text(), "MDAwMDAw") {
			t.Error("a secret is in the log")
		}
	}
}

func TestAgentWithoutABucketHasNoRoutesForIt(t *testing.T) {
	n := newNode(t)
	n.start()
	for line, body := range map[string]string{"PUT " + uploadPath: "{}", "PUT " + downloadPath: "{}", "GET " + remotePath: "", "DELETE " + remotePath: ""} {
		if got := n.expect(n.controller, line, body, 404); got["code"] != "NotFound" {
			t.Errorf("%s: got %v", line, got)
		}
	}
}

func TestDeletionOfASnapshotEndsItsDownload(t *testing.T) {
	asked := make(chan struct{}, 10)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	n := newNode(t)
	n.useBucket("cluster-1")
	n.more = append(n.more, "-s3-endpoint", silent.URL)
	n.start()
	var group sync.WaitGroup
	group.Go(func() {
		if got := n.expect(n.controller, "PUT "+downloadPath, `{"digest":"sha256:`+strings.Repeat("0", 64)+`"}`, 409); got["code"] != "Cancelled" {
			t.Errorf("got %v", got)
		}
	})
	<-asked
	n.expect(n.controller, "PUT "+uploadPath, "{}", 503)
	n.expect(n.controller, "DELETE "+snapshotPath, "", 204)
	group.Wait()
	n.expect(n.controller, "GET "+snapshotPath, "", 404)
}
