package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
)

// The whole way in the real gVisor, with the flags and the rights that the agent has in its Pod: root without a single
// capability, which sees no process of the node.
func TestHibernatedSandboxGoesOnInAnotherPod(t *testing.T) {
	rt := runsctest.NewRuntime(t)
	pod := rt.StartPod(runsc.PodName{Namespace: "team", Name: "analyst-1", UID: podUID})
	n := newNode(t)
	n.runsc, n.runscRoot = rt.Binary, rt.Root
	n.within = []string{
		"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--ipc", "--uts", "--cgroup",
		"setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all",
	}
	n.start()
	pod.WaitFor("count of 20", func() bool { return pod.Count() >= 20 })
	before := pod.Count()
	saved := n.expect(n.controller, "PUT "+snapshotPath, hibernate, 200)
	if saved["bytes"].(float64) < 500_000 || !pod.StandsStill() {
		t.Errorf("got %v; the Pod goes on: %t", saved, !pod.StandsStill())
	}
	if saved["machine"].(map[string]any)["hash"] != n.expect(n.controller, "GET /v1/node", "", 200)["fingerprint"].(map[string]any)["hash"] {
		t.Error("the snapshot has another fingerprint than its node")
	}
	pod.Delete()

	n.expect(n.controller, "PUT /v1/restores/"+nextUID, announcement("analyst-2", snapshotUID), 200)
	folder := n.expect(n.shim, "POST /v1/begin", begin("analyst-2", nextUID, snapshotUID), 200)["imagePath"].(string)
	next := rt.RestorePod(runsc.PodName{Namespace: "team", Name: "analyst-2", UID: nextUID}, folder)
	if got := next.Count(); got < before {
		t.Errorf("the count began anew: %d after %d", got, before)
	}
	next.GoesOn()
	n.expect(n.shim, "POST /v1/end", end(nextUID, true), 204)
	if got := n.expect(n.controller, "GET /v1/restores/"+nextUID+"?waitSeconds=20", "", 200); got["state"] != "Restored" {
		t.Errorf("got %v", got)
	}
	n.expect(n.controller, "DELETE "+snapshotPath, "", 204)
	next.GoesOn()
}

func (n *node) gate() {
	n.t.Helper()
	if err := syscall.Mkfifo(n.path("runsc.gate"), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// beginSave begins a save that waits at the gate.
func (n *node) beginSave(group *sync.WaitGroup) {
	n.t.Helper()
	group.Go(func() { n.ask(n.controller, "PUT "+snapshotPath, hibernate) })
	n.waitFor("save at the gate", func() bool { return n.exists("runsc.waiting") })
}

func TestEndOfTheAgentLeavesASnapshotOrARunningPod(t *testing.T) {
	rows := map[string]struct {
		grace string
		// opens lets the save go on after the request to stop.
		opens bool
		want  string
	}{
		"a save that ends in time is finished": {"30s", true, "paused"},
		"a save that does not is undone":       {"50ms", false, "running"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.gate()
			n.more = []string{"-grace", row.grace}
			n.start()
			var group sync.WaitGroup
			n.beginSave(&group)
			if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if row.opens {
				// The socket goes first.
				n.waitFor("agent that ends", func() bool { return !n.exists("run/node.sock") })
				n.write("runsc.gate", "go\n", 0)
			}
			if code := n.terminateAgain(); code != 0 {
				t.Errorf("the agent ended with %d:\n%s", code, n.log.text())
			}
			group.Wait()
			if got := n.podStatus(); got != row.want || n.exists("store/team/"+snapshotUID) != (row.want == "paused") {
				t.Errorf("the Pod is %s; the snapshot is there: %t", got, n.exists("store/team/"+snapshotUID))
			}
			n.expectNoRemains()
		})
	}
}

// terminateAgain waits for an agent that was asked already.
func (n *node) terminateAgain() int {
	_ = n.cmd.Wait()
	return n.cmd.ProcessState.ExitCode()
}

func (n *node) expectNoRemains() {
	n.t.Helper()
	for _, pattern := range []string{"store/*/.*", "state/intents/*"} {
		left, err := filepath.Glob(n.path(pattern))
		if err != nil || len(left) != 0 {
			n.t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestAgentThatStartsLetsThePodOfADeadOneGoOn(t *testing.T) {
	n := newNode(t)
	n.gate()
	n.start()
	var group sync.WaitGroup
	n.beginSave(&group)
	n.kill()
	group.Wait()
	if n.podStatus() != "paused" {
		t.Fatal("the Pod goes on before the next agent")
	}
	// The script of the dead agent still holds the intent until it ends.
	n.write("runsc.gate", "go\n", 0)
	n.start()
	if n.podStatus() != "running" || n.exists("store/team/"+snapshotUID) {
		t.Errorf("the Pod is %s; the snapshot is there: %t", n.podStatus(), n.exists("store/team/"+snapshotUID))
	}
	n.expectNoRemains()
}

func TestPodThatCannotGoOnDoesNotKeepTheAgentFromTheOthers(t *testing.T) {
	n := newNode(t)
	n.write("runsc", strings.Replace(runsctest.Script, "resume) echo", `resume) if [ -e "$0.stuck" ]; then exit 1; fi; echo`, 1), 0o755)
	n.gate()
	n.start()
	var group sync.WaitGroup
	n.beginSave(&group)
	n.kill()
	group.Wait()
	n.write("runsc.gate", "go\n", 0)
	n.write("runsc.stuck", "", 0o600)
	n.start()
	if _, text := n.probe("/metrics"); !strings.Contains(text, "sandlot_node_recovery_failed 1") {
		t.Errorf("no metric says so:\n%s", text)
	}
	n.expect(n.controller, "GET /v1/node", "", 200)
	if err := os.Remove(n.path("runsc.stuck")); err != nil {
		t.Fatal(err)
	}
	n.kill()
	n.start()
	if n.podStatus() != "running" {
		t.Error("the next agent does not try again")
	}
}

func TestProbesAndMetrics(t *testing.T) {
	n := newNode(t)
	n.start()
	n.expect(n.controller, "PUT "+snapshotPath, hibernate, 200)
	n.expect(n.controller, "PUT /v1/restores/"+nextUID, announcement("analyst-2", snapshotUID), 200)
	n.expect(n.shim, "POST /v1/begin", begin("analyst-2", nextUID, snapshotUID), 200)
	n.expect(n.shim, "POST /v1/end", end(nextUID, false), 204)
	n.expect(n.controller, "PUT /v1/snapshots/team/"+sandboxUID, strings.Replace(hibernate, podUID, nextUID, 1), 404)
	_, text := n.probe("/metrics")
	for _, line := range []string{
		`sandlot_node_saves_total{mode="Hibernate",result="saved"} 1`,
		`sandlot_node_saves_total{mode="Hibernate",result="absent"} 1`,
		`sandlot_node_save_seconds_count{mode="Hibernate"} 1`,
		`sandlot_node_saved_bytes_total 7`,
		`sandlot_node_restores_total{result="failed"} 1`,
		`sandlot_node_saves_in_progress 0`,
		`sandlot_node_restores_in_progress 0`,
		`sandlot_node_restores_waiting 0`,
		`sandlot_node_store_used_bytes 7`,
		`sandlot_node_recovery_failed 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in:\n%s", line, text)
		}
	}
	if err := os.Rename(n.path("runsc"), n.path("gone")); err != nil {
		t.Fatal(err)
	}
	if status, text := n.probe("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "runsc") {
		t.Errorf("without gVisor: %d %s", status, text)
	}
	if err := os.Rename(n.path("gone"), n.path("runsc")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", n.runscRoot, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Fatalf("these tests need root: %v", err)
	}
	defer syscall.Unmount(n.runscRoot, syscall.MNT_DETACH)
	if status, text := n.probe("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, n.runscRoot) {
		t.Errorf("with gVisor's folder read-only: %d %s", status, text)
	}
	if status, _ := n.probe("/healthz"); status != http.StatusOK {
		t.Errorf("the agent would be killed for what it cannot change: %d", status)
	}
	if status, _ := n.probe("/v1/node"); status != http.StatusNotFound {
		t.Errorf("the port of the probes has the API: %d", status)
	}
}

func TestLogIsJSONWithoutKeys(t *testing.T) {
	n := newNode(t)
	n.start()
	n.expect(n.controller, "PUT "+snapshotPath, hibernate, 200)
	if status, _ := n.ask(n.ca.Client(), "GET /v1/node", ""); status != 0 {
		t.Errorf("a stranger got %d", status)
	}
	n.terminate()
	key, err := os.ReadFile(n.path("tls/tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(n.log.text()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["msg"] == "" {
			t.Errorf("%q: %v", line, err)
		}
		if strings.Contains(line, "PRIVATE KEY") || strings.Contains(line, strings.Split(string(key), "\n")[1]) {
			t.Error("the key is in the log")
		}
	}
}

func TestSecondAgentDoesNotStart(t *testing.T) {
	n := newNode(t)
	n.start()
	second := n.command()
	if err := second.Run(); err == nil || !strings.Contains(n.log.text(), "another agent uses the store") {
		t.Errorf("got %v:\n%s", err, n.log.text())
	}
	n.expect(n.controller, "GET /v1/node", "", 200)
}

func TestAgentWithWrongSettingsSaysWhatIsWrong(t *testing.T) {
	for name, row := range map[string]struct {
		more  []string
		words string
	}{
		"a path that depends on where it starts": {[]string{"-root", "store"}, "-root is \\\"store\\\": it must be an absolute path"},
		"no node":                                {[]string{"-node", ""}, "-node is"},
		"no saves":                               {[]string{"-most-saves", "0"}, "-most-saves and -most-restores must be at least 1"},
		"no restores":                            {[]string{"-most-restores", "0"}, "-most-saves and -most-restores must be at least 1"},
		"an unknown flag":                        {[]string{"-force"}, "force"},
		"an argument":                            {[]string{"serve"}, "is no flag"},
		"no TLS files":                           {[]string{"-tls-dir", "/nonexistent"}, "the TLS files of /nonexistent cannot be used"},
		"a wrong number":                         {[]string{"-wanted-bytes", "many"}, "wanted-bytes"},
		"a negative number":                      {[]string{"-keep-free-bytes", "-1"}, "must not be negative"},
		"a bucket without its server":            {[]string{"-s3-bucket", "snapshots"}, "-s3-endpoint is"},
		"a server without a bucket":              {[]string{"-s3-endpoint", "https://s3.example.com"}, "-s3-bucket is absent"},
		"a server that is no URL":                {[]string{"-s3-endpoint", "s3.example.com", "-s3-bucket", "snapshots"}, "-s3-endpoint is"},
		"a prefix that is a path":                {[]string{"-s3-endpoint", "https://s3.example.com", "-s3-bucket", "snapshots", "-s3-prefix", "../"}, "-s3-prefix is"},
		"a bucket without credentials":           {[]string{"-s3-endpoint", "https://s3.example.com", "-s3-bucket", "snapshots", "-s3-keys", "/nonexistent"}, "keys for the bucket cannot be read"},
	} {
		n := newNode(t)
		n.more = row.more
		if err := n.command().Run(); err == nil || !strings.Contains(n.log.text(), row.words) {
			t.Errorf("%s: %v:\n%s", name, err, n.log.text())
		}
	}
}

func TestSettingsComeFromTheEnvironmentToo(t *testing.T) {
	n := newNode(t)
	cmd := n.command()
	cmd.Args = cmd.Args[:1]
	cmd.Env = append(cmd.Env, "SANDLOT_NODE=node-1", "SANDLOT_MOST_SAVES=none")
	if err := cmd.Run(); err == nil || !strings.Contains(n.log.text(), "SANDLOT_MOST_SAVES") {
		t.Errorf("got %v:\n%s", err, n.log.text())
	}
}
