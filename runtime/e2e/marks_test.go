package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// marked returns what a process and the files say about the sandbox.
func (d *daemon) marked(dir string) string {
	d.t.Helper()
	said := []string{d.run("env | grep ^E2B_ | sort").stdout}
	for _, name := range []string{".E2B_SANDBOX", ".E2B_SANDBOX_ID", ".E2B_TEMPLATE_ID"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			said = append(said, name+" "+string(content))
		}
	}
	return strings.Join(said, "\n")
}

func TestProgramsFindOutInWhichSandboxTheyRun(t *testing.T) {
	ours, env := install(t)
	dir := filepath.Join(t.TempDir(), "e2b")
	d := serve(t, append(env, "SANDLOT_MARKS_DIR="+dir)...)
	now := time.Now().UnixMilli()
	say := func(body string) {
		t.Helper()
		now++
		expect(t, "status", strconv.Itoa(d.init(ours.sign(sandboxUID, now, body), body).status), "204")
	}
	d.token = "token"
	say(`{"accessToken":"token"}`)
	expect(t, "without ids", d.marked(dir), "E2B_SANDBOX=true\n\n.E2B_SANDBOX true")
	const named = "E2B_SANDBOX=true\nE2B_SANDBOX_ID=first\nE2B_TEMPLATE_ID=base\n\n.E2B_SANDBOX true\n.E2B_SANDBOX_ID first\n.E2B_TEMPLATE_ID base"
	say(`{"accessToken":"token","sandlot":{"sandbox":{"id":"first","template":"base"}}}`)
	expect(t, "with ids", d.marked(dir), named)
	say(`{"accessToken":"token"}`)
	expect(t, "ids that the next /init left out", d.marked(dir), named)
	expect(t, "an /init with the token", strconv.Itoa(d.init(header{"X-Access-Token": "token"}, `{"accessToken":"token","sandlot":{"sandbox":{"id":"forged"}}}`).status), "204")
	expect(t, "ids after it", d.marked(dir), named)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	d.restart()
	expect(t, "after a restart of the container", d.marked(dir), named)
	say(`{"accessToken":"token","envVars":{"E2B_SANDBOX":"mine"},"sandlot":{"sandbox":{"id":"second","template":"base"}}}`)
	got := d.open("process.Process/Start", `{"process":{"cmd":"env","envs":{"E2B_TEMPLATE_ID":"other"}}}`, nil).collect().stdout
	for _, variable := range []string{"E2B_SANDBOX=mine\n", "E2B_SANDBOX_ID=second\n", "E2B_TEMPLATE_ID=other\n"} {
		if !strings.Contains(got, variable) {
			t.Errorf("the environment lacks %s: %s", variable, got)
		}
	}
	expect(t, "variables of /envs", d.request("GET", "/envs", nil, nil).body, `{"E2B_SANDBOX":"mine","E2B_SANDBOX_ID":"second","E2B_TEMPLATE_ID":"base"}`)
}

func TestAnInitWithVolumesIsRefusedAsAWhole(t *testing.T) {
	d := serve(t)
	got := d.init(nil, `{"envVars":{"A":"1"},"volumeMounts":[{"nfs_target":"host:/a","path":"/a"}]}`)
	expect(t, "answer", strconv.Itoa(got.status)+got.body, `400{"code":400,"message":"volumeMounts: the daemon mounts none, volumes come with the Pod"}`)
	expect(t, "variables", d.request("GET", "/envs", nil, nil).body, "{}")
	expect(t, "an empty list", strconv.Itoa(d.init(nil, `{"volumeMounts":[]}`).status), "204")
}

func TestControlRoutesOfE2BsDaemonDoNotExist(t *testing.T) {
	d := serve(t)
	for _, path := range []string{"/collapse", "/fsfreeze", "/fsthaw", "/freeze", "/freeze?mode=all", "/unfreeze", "/upgrade"} {
		for _, method := range []string{"GET", "POST"} {
			expect(t, method+" "+path, strconv.Itoa(d.request(method, path, nil, nil).status), "404")
		}
	}
}

func TestStartsThatClientsCancelDoNotWedgeTheDaemon(t *testing.T) {
	d := serve(t)
	for index := range 40 {
		// More output than subscribers are given in advance, so that each process waits for its client when that goes.
		s := d.open("process.Process/Start", shell("head -c 4000000 /dev/zero; echo done", `"tag":"cancelled"`), nil)
		if index%2 == 0 {
			s.message()
		}
		s.close()
	}
	eventually(t, "every process went on to its end", func() bool {
		return !strings.Contains(d.must("process.Process/List", "{}"), `"cancelled"`)
	})
	expect(t, "a start afterwards", d.run("echo works").stdout, "works\n")
}
