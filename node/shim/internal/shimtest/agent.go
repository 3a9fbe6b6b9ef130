package shimtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// agentSocket is in the command line of the agent.
const agentSocket = "agent.sock"

// Agent is the real agent of the node, as a process that is started again whenever it has ended.
type Agent struct {
	// Asked counts the requests of shims.
	Asked atomic.Int32

	node   *Node
	listen string
	client *http.Client

	mutex sync.Mutex
	cmd   *exec.Cmd
	// isOver is set when no other agent shall start.
	isOver bool
	// death is the moment at which the agent dies; empty: it does not.
	death string
}

// RunAgent starts the agent between the shims and gVisor. It ends with the test.
func (n *Node) RunAgent() *Agent {
	n.t.Helper()
	a := &Agent{node: n, listen: freeAddress(n.t), client: newClient(n.t, filepath.Join(n.folder, "tls"))}
	must(n.t, os.MkdirAll(n.root(), 0o711))
	n.WrapAgent("")
	a.start()
	n.t.Cleanup(func() {
		a.mutex.Lock()
		a.isOver = true
		a.mutex.Unlock()
		a.Kill()
	})
	listener, err := net.Listen("unix", n.Socket)
	must(n.t, err)
	server := &http.Server{Handler: a.proxy()}
	n.t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return a
}

func (a *Agent) start() {
	path := func(name string) string { return filepath.Join(a.node.folder, name) }
	cmd := exec.Command(program(a.node.t, "SANDLOT_AGENT"),
		"-node", "node-1", "-root", path("snapshots"), "-state", path("agent"), "-runsc", a.node.agentWrapper(), "-runsc-root", a.node.root(),
		"-socket", path(agentSocket), "-listen", a.listen, "-metrics", "127.0.0.1:0", "-tls-dir", path("tls"),
		"-wanted-bytes", "1048576", "-keep-free-bytes", "0")
	log, err := os.OpenFile(path("agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(a.node.t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	must(a.node.t, cmd.Start())
	must(a.node.t, os.WriteFile(path("agent.pid"), fmt.Append(nil, cmd.Process.Pid), 0o600))
	a.cmd = cmd
	go a.follow(cmd)
}

// follow starts the next agent, as the kubelet does.
func (a *Agent) follow(cmd *exec.Cmd) {
	_ = cmd.Wait()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.isOver {
		a.start()
	}
}

// Kill ends the agent without a chance to do anything, and returns when the next one has started.
func (a *Agent) Kill() {
	a.mutex.Lock()
	killed := a.cmd
	a.mutex.Unlock()
	_ = killed.Process.Kill()
	for hasNext := false; !hasNext; time.Sleep(5 * time.Millisecond) {
		a.mutex.Lock()
		hasNext = a.cmd != killed || a.isOver
		a.mutex.Unlock()
	}
}

// DieAt kills the agent at a moment of the next request of a shim: "before PATH", so that it does not see the request, or
// "after PATH", so that its answer is lost.
func (a *Agent) DieAt(moment string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.death = moment
}

// dies kills the agent if this is the moment.
func (a *Agent) dies(moment string) bool {
	a.mutex.Lock()
	isIt := a.death == moment
	if isIt {
		a.death = ""
	}
	a.mutex.Unlock()
	if isIt {
		a.Kill()
	}
	return isIt
}

// proxy passes the requests of shims on.
func (a *Agent) proxy() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "agent" },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: a.dial},
		ModifyResponse: func(r *http.Response) error {
			if a.dies("after " + r.Request.URL.Path) {
				return errors.New("the agent died")
			}
			return nil
		},
		// The shim sees what it sees when an agent dies: the end of the connection.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Asked.Add(1)
		if a.dies("before " + r.URL.Path) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	})
}

// dial tries again while no agent listens, as the shim would.
func (a *Agent) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(a.node.folder, agentSocket))
		if err == nil || ctx.Err() != nil {
			return connection, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Ask makes a request of the snapshot-controller, again until an agent answers, and returns the status and the answer.
func (a *Agent) Ask(line, body string) (int, map[string]any) {
	a.node.t.Helper()
	method, path, _ := strings.Cut(line, " ")
	for ctx := a.node.context(); ; time.Sleep(5 * time.Millisecond) {
		request, err := http.NewRequestWithContext(ctx, method, "https://"+a.listen+path, strings.NewReader(body))
		must(a.node.t, err)
		response, err := a.client.Do(request)
		if ctx.Err() != nil {
			a.node.t.Fatalf("%s: %v", line, err)
		}
		if err != nil {
			continue
		}
		answer := map[string]any{}
		_ = json.NewDecoder(response.Body).Decode(&answer)
		_ = response.Body.Close()
		return response.StatusCode, answer
	}
}

// Expect makes a request that must succeed.
func (a *Agent) Expect(line, body string) map[string]any {
	a.node.t.Helper()
	status, answer := a.Ask(line, body)
	if status != http.StatusOK {
		said, _ := os.ReadFile(filepath.Join(a.node.folder, "agent.log"))
		a.node.t.Fatalf("%s: got %d %v; the agent said:\n%s", line, status, answer, said)
	}
	return answer
}

// Remains are what the agent keeps of snapshots beside those that it answers for.
func (a *Agent) Remains() []string {
	var found []string
	matches, _ := filepath.Glob(filepath.Join(a.node.folder, "snapshots", "*", "*"))
	for _, path := range matches {
		if !exists(filepath.Join(path, "manifest.json")) {
			found = append(found, path)
		}
	}
	return found
}

// HasSnapshot reports whether the snapshot has its name.
func (a *Agent) HasSnapshot(namespace, uid string) bool {
	return exists(filepath.Join(a.node.folder, "snapshots", namespace, uid, "manifest.json"))
}
