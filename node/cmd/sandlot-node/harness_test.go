package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sandlot.dev/node/internal/apitest"
	"sandlot.dev/node/internal/porttest"
	"sandlot.dev/node/internal/runsctest"
	"sandlot.dev/node/internal/s3test"
)

const (
	podUID      = runsctest.PodUID
	nextUID     = "1f8fad5b-d9cb-469f-a165-70867728950e"
	snapshotUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	sandboxUID  = "11111111-7425-40de-944b-e07fc1f90ae7"
	patience    = 30 * time.Second

	snapshotPath = "/v1/snapshots/team/" + snapshotUID
	hibernate    = `{"source":{"sandboxName":"analyst","sandboxUid":"` + sandboxUID + `","podName":"analyst-1","podUid":"` + podUID + `"},"mode":"Hibernate"}`
)

// mainVariable makes the test's program the agent.
const mainVariable = "SANDLOT_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	code := m.Run()
	s3test.Stop()
	os.Exit(code)
}

// log collects what a process prints.
type log struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(p)
}

func (l *log) text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}

// node is a node on which agents run as processes, one after the other.
type node struct {
	t      *testing.T
	folder string
	// runsc is the path of the program that the agents use, runscRoot its folder.
	runsc, runscRoot string
	// more are flags beside the usual ones.
	more []string
	// within is a command that runs the agent with fewer rights.
	within []string
	ca     *apitest.Authority

	listen, metrics string
	log             log
	cmd             *exec.Cmd
	controller      *http.Client
	shim            *http.Client
	// hasty is a shim that does not wait long.
	hasty *http.Client
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, folder: t.TempDir(), ca: apitest.NewAuthority(t), listen: porttest.FreeAddress(t), metrics: porttest.FreeAddress(t)}
	n.runsc, n.runscRoot = n.path("runsc"), n.path("runsc-root")
	n.write("runsc", runsctest.Script, 0o755)
	if err := os.Mkdir(n.runscRoot, 0o711); err != nil {
		t.Fatal(err)
	}
	n.ca.Write(t, n.path("tls"), n.ca.Issue(t, "sandlot-node"))
	n.controller = n.ca.Client(n.ca.Issue(t, "snapshot-controller"))
	n.shim = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.path("run/node.sock"))
	}}}
	n.hasty = &http.Client{Transport: n.shim.Transport, Timeout: time.Second}
	t.Cleanup(func() { n.kill() })
	return n
}

func (n *node) path(name string) string { return filepath.Join(n.folder, name) }

func (n *node) write(name, text string, mode os.FileMode) {
	n.t.Helper()
	if err := os.WriteFile(n.path(name), []byte(text), mode); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) command() *exec.Cmd {
	args := []string{
		"-node", "node-1", "-root", n.path("store"), "-state", n.path("state"), "-runsc", n.runsc, "-runsc-root", n.runscRoot,
		"-socket", n.path("run/node.sock"), "-listen", n.listen, "-metrics", n.metrics, "-tls-dir", n.path("tls"),
		"-wanted-bytes", "1048576", "-keep-free-bytes", "0",
	}
	line := append(append(append([]string{}, n.within...), os.Args[0]), append(args, n.more...)...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	cmd.Stdout, cmd.Stderr = &n.log, &n.log
	return cmd
}

// start starts an agent and waits until it is ready.
func (n *node) start() {
	n.t.Helper()
	n.launch()
	n.waitFor("ready agent", func() bool { status, _ := n.probe("/readyz"); return status == http.StatusOK })
}

func (n *node) launch() {
	n.t.Helper()
	n.cmd = n.command()
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
}

// kill ends the agent without a chance to do anything.
func (n *node) kill() {
	if n.cmd != nil && n.cmd.ProcessState == nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
	}
}

// terminate asks the agent to end and returns its exit code.
func (n *node) terminate() int {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	_ = n.cmd.Wait()
	return n.cmd.ProcessState.ExitCode()
}

func (n *node) probe(path string) (status int, text string) {
	response, err := http.Get("http://" + n.metrics + path)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

func (n *node) waitFor(what string, isTrue func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); !isTrue(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("no %s; the agent said:\n%s", what, n.log.text())
		}
	}
}

func (n *node) exists(name string) bool {
	_, err := os.Stat(n.path(name))
	return err == nil
}

// podStatus is that of the Pod of the script.
func (n *node) podStatus() string {
	text, err := os.ReadFile(n.path("runsc.state"))
	if err != nil {
		return "running"
	}
	return strings.TrimSpace(string(text))
}

// ask returns the status and the answer; 0: there was none.
func (n *node) ask(client *http.Client, line, body string) (int, map[string]any) {
	method, path, _ := strings.Cut(line, " ")
	url := "https://" + n.listen + path
	if client == n.shim || client == n.hasty {
		url = "http://node" + path
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		n.t.Error(err)
		return 0, nil
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	answer := map[string]any{}
	_ = json.Unmarshal(text, &answer)
	return response.StatusCode, answer
}

func (n *node) expect(client *http.Client, line, body string, want int) map[string]any {
	n.t.Helper()
	status, answer := n.ask(client, line, body)
	if status != want {
		n.t.Fatalf("%s: got %d %v; want %d; the agent said:\n%s", line, status, answer, want, n.log.text())
	}
	return answer
}

func announcement(podName, snapshot string) string {
	return fmt.Sprintf(`{"namespace":"team","podName":%q,"snapshotUid":%q}`, podName, snapshot)
}

func begin(podName, pod, snapshot string) string {
	return fmt.Sprintf(`{"namespace":"team","podName":%q,"podUid":%q,"snapshotUid":%q}`, podName, pod, snapshot)
}

func end(pod string, restored bool) string {
	return fmt.Sprintf(`{"podUid":%q,"restored":%t,"message":""}`, pod, restored)
}
