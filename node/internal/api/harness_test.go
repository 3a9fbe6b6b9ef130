package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandlot.dev/node/internal/api"
	"sandlot.dev/node/internal/apitest"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

const (
	podUID      = runsctest.PodUID
	snapshotUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	otherUID    = "11111111-7425-40de-944b-e07fc1f90ae7"
	patience    = 30 * time.Second
)

// node is a node with an agent whose APIs are served.
type node struct {
	t      *testing.T
	folder string
	// runsc is the path of the fake.
	runsc string
	agent *api.Agent
	tls   string
	url   string
	// shim is a client of the unix socket.
	shim *http.Client
	ca   *apitest.Authority
}

func newNode(t *testing.T) *node {
	t.Helper()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	n := &node{t: t, folder: t.TempDir(), ca: apitest.NewAuthority(t)}
	n.runsc = filepath.Join(n.folder, "runsc")
	n.write("runsc", runsctest.Script, 0o755)
	n.startAgent()
	n.serve()
	return n
}

func (n *node) write(name, text string, mode os.FileMode) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.folder, name), []byte(text), mode); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) startAgent() {
	n.t.Helper()
	limits := runsc.Limits{Brief: patience, Checkpoint: patience, Restore: patience}
	r := runsc.Runsc{Binary: n.runsc, Root: filepath.Join(n.folder, "root"), Limits: limits}
	machine := runsc.NewMachine(r).Describe
	s, err := store.Open(filepath.Join(n.folder, "store"), store.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	ledger, err := grants.Open(grants.Options{
		Folder: filepath.Join(n.folder, "grants"), Store: s, Machine: machine, BeginLimit: 200 * time.Millisecond, MostRestores: 1, DirectReads: true, KeepFor: time.Hour, Now: time.Now,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	saver, err := save.New(n.t.Context(), save.Options{
		Runsc: r, Store: s, Machine: machine, IntentFolder: filepath.Join(n.folder, "intents"), MostSaves: 1, ResumeLimit: patience, Flush: func() {}, FlushLimit: patience, IsSpent: ledger.IsSpent, Now: time.Now,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.agent = &api.Agent{Node: "node-1", Store: s, Saver: saver, Grants: ledger, Machine: machine}
	n.t.Cleanup(func() {
		saver.Wait()
		ledger.Close()
		s.Close()
	})
}

func (n *node) serve() {
	n.t.Helper()
	n.tls = filepath.Join(n.folder, "tls")
	n.ca.Write(n.t, n.tls, n.ca.Issue(n.t, "sandlot-node"))
	identity, err := api.OpenIdentity(n.tls)
	if err != nil {
		n.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	n.url = "https://" + listener.Addr().String()
	n.run(n.agent.Controller(), tls.NewListener(listener, identity.Config()))

	socket := filepath.Join(n.folder, "node.sock")
	unix, err := api.ListenUnix(socket)
	if err != nil {
		n.t.Fatal(err)
	}
	n.run(n.agent.Shim(), unix)
	n.shim = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

func (n *node) run(handler http.Handler, listener net.Listener) {
	server := api.NewServer(n.t.Context(), handler)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	n.t.Cleanup(func() { server.Close(); <-done })
}

// controller is a client with the certificate of the controller.
func (n *node) controller() *http.Client {
	return n.ca.Client(n.ca.Issue(n.t, "snapshot-controller"))
}

type answer struct {
	status int
	body   map[string]any
}

// text is a field of the answer.
func (a answer) text(field string) string { return fmt.Sprint(a.body[field]) }

func (n *node) ask(client *http.Client, line, body string) answer {
	n.t.Helper()
	method, url, _ := strings.Cut(line, " ")
	if strings.HasPrefix(url, "/") {
		url = n.url + url
	}
	request, err := http.NewRequestWithContext(n.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	a := answer{status: response.StatusCode}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			n.t.Fatalf("%s: %v: %s", line, err, text)
		}
	}
	return a
}

// expect asks and compares the status and the code of an error.
func (n *node) expect(client *http.Client, line, body string, want answer) answer {
	n.t.Helper()
	got := n.ask(client, line, body)
	if got.status != want.status || (want.body != nil && got.text("code") != want.text("code")) {
		n.t.Errorf("%s: got %d %v; want %d %v", line, got.status, got.body, want.status, want.body)
	}
	return got
}

func code(status int, code string) answer {
	return answer{status, map[string]any{"code": code}}
}

func ok(status int) answer { return answer{status: status} }
