package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	pb "sandlot.dev/runtime/internal/gen/sandboxd"
)

const sandboxdVariable = "SANDLOT_SANDBOXD_PORTS="

// sandboxdPorts returns the variable that turns the dialect of sandboxd on, with free ports.
func sandboxdPorts(t *testing.T) string {
	t.Helper()
	return sandboxdVariable + strconv.Itoa(freePort(t)) + "," + strconv.Itoa(freePort(t))
}

// sandboxdDaemon starts a daemon that serves the dialect of sandboxd from a temporary folder.
func sandboxdDaemon(t *testing.T, env ...string) (*daemon, string) {
	t.Helper()
	base := t.TempDir()
	return serve(t, append(env, sandboxdPorts(t), "SANDBOX_BASE_DIR="+base)...), base
}

// overHTTP2 speaks HTTP/2 without TLS, as clients of gRPC do.
var overHTTP2 = func() *http.Client {
	only := &http.Protocols{}
	only.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: only}}
}()

// grpcCall calls a method with gRPC and returns the answer, or the error as `code: message`.
func grpcCall[Req, Res any](ctx context.Context, d *daemon, method string, message *Req, options ...connect.ClientOption) (*Res, string) {
	d.t.Helper()
	client := connect.NewClient[Req, Res](overHTTP2, d.processesURL+"/process.v1.ProcessService/"+method, append(options, connect.WithGRPC())...)
	request := connect.NewRequest(message)
	if d.proof != "" {
		request.Header().Set("X-Sandlot-Proof", d.proof)
	}
	response, err := client.CallUnary(ctx, request)
	if err != nil {
		return nil, err.Error()
	}
	return response.Msg, ""
}

func (d *daemon) grpcExecute(config *pb.ProcessConfig) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, failure := grpcCall[pb.ExecuteRequest, pb.ExecuteResponse](ctx, d, "Execute", &pb.ExecuteRequest{Config: config})
	if failure != "" {
		return failure
	}
	return fmt.Sprintf("%d %q %q", got.GetExitCode(), got.GetStdout(), got.GetStderr())
}

func sh(script string) *pb.ProcessConfig {
	return &pb.ProcessConfig{Command: []string{"/bin/sh", "-c", script}}
}

// file sends a request with a raw target to the files of sandboxd, and returns status and body.
func (d *daemon) file(method, target, body string) string {
	d.t.Helper()
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n", method, target, len(body))
	if d.proof != "" {
		head += "X-Sandlot-Proof: " + d.proof + "\r\n"
	}
	return d.exchange(head+"\r\n"+body, method)
}

func (d *daemon) exchange(request, method string) string {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.filesURL, "http://"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(response.Body)
	return strings.TrimSpace(strconv.Itoa(response.StatusCode) + " " + string(said))
}

// expectSandboxd checks every route and RPC that the gate protects. With a reason it expects a refusal with that reason.
func (d *daemon) expectSandboxd(when, reason string) {
	d.t.Helper()
	for _, each := range []string{"GET /v1/files/", "HEAD /v1/files/", "PUT /v1/files/new", "DELETE /v1/files/new", "GET /v1/metadata"} {
		method, target, _ := strings.Cut(each, " ")
		got := d.file(method, target, "")
		want := `403 {"code":"PERMISSION_DENIED","message":"` + reason + `"}`
		if method == "HEAD" {
			want = "403"
		}
		if reason == "" && !strings.HasPrefix(got, "20") || reason != "" && got != want {
			d.t.Errorf("%s: %s: %s", when, each, got)
		}
	}
	expect(d.t, when+": a probe", d.file("GET", "/v1/health", "")[:18], `200 {"status":"ok"`)
	want := `0 "" ""`
	if reason != "" {
		want = "permission_denied: " + reason
	}
	expect(d.t, when+": Execute", d.grpcExecute(sh("true")), want)
	plain := d.send(d.processesURL, "POST", "/process.v1.ProcessService/Execute", header{"Content-Type": "application/json"}, strings.NewReader(`{"config":{"command":["true"]}}`))
	expect(d.t, when+": Execute by Connect", strconv.FormatBool(plain.status == 403), strconv.FormatBool(reason != ""))
}

func TestASignedInitOpensAndClosesTheDialectOfSandboxd(t *testing.T) {
	ours, env := install(t)
	d, _ := sandboxdDaemon(t, env...)
	d.expectSandboxd("in a pool, before /init", notYet)
	now := time.Now().UnixMilli()
	say := func(exec string) {
		t.Helper()
		now++
		body := `{"accessToken":"token","sandlot":{"exec":` + exec + `}}`
		expect(t, "init with "+exec, strconv.Itoa(d.init(ours.sign(sandboxUID, now, body), body).status), "204")
	}
	say("false")
	d.expectSandboxd("for an E2B client", notThis)
	say("true")
	d.expectSandboxd("for a claim", "")
}

func TestWithoutAClaimTheDialectOfSandboxdAnswersOnlyTheGatewayAndTheInside(t *testing.T) {
	ours, env := install(t)
	d, _ := sandboxdDaemon(t, append(env, "SANDLOT_EXEC_OPEN=gateway")...)
	d.expectSandboxd("over loopback, as from a forwarded port", "")
	address := outsideAddress(t)
	d.filesURL = strings.Replace(d.filesURL, "127.0.0.1", address, 1)
	d.processesURL = strings.Replace(d.processesURL, "127.0.0.1", address, 1)
	d.expectSandboxd("from another Pod", notForAll)
	d.proof = ours.prove("other", address, time.Now())
	d.expectSandboxd("with what another sandbox received", notForAll)
	d.proof = ours.prove(sandboxUID, address, time.Now())
	d.expectSandboxd("the gateway", "")
}

func TestWithoutANetworkPolicyAClaimOpensTheDialectOfSandboxdToTheGatewayAndTheInside(t *testing.T) {
	ours, env := install(t)
	d, _ := sandboxdDaemon(t, append(env, "SANDLOT_EXEC_PROOF=true")...)
	const body = `{"accessToken":"token","sandlot":{"exec":true}}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	d.expectSandboxd("over loopback", "")
	address := outsideAddress(t)
	d.filesURL = strings.Replace(d.filesURL, "127.0.0.1", address, 1)
	d.processesURL = strings.Replace(d.processesURL, "127.0.0.1", address, 1)
	d.expectSandboxd("from another Pod", unguarded)
	d.proof = ours.prove(sandboxUID, address, time.Now())
	d.expectSandboxd("the gateway", "")
}

func TestTheDialectOfSandboxdNeedsNoPort8888(t *testing.T) {
	d, _ := sandboxdDaemon(t, "SANDLOT_EXEC_PORT=0")
	d.expectSandboxd("in debug mode", "")
}

// listening counts the TCP sockets of a daemon that listen.
func (d *daemon) listening() int {
	d.t.Helper()
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for line := range strings.Lines(content(d.t, table)) {
			if fields := strings.Fields(line); len(fields) > 9 && fields[3] == "0A" {
				inodes["socket:["+fields[9]+"]"] = true
			}
		}
	}
	folder := fmt.Sprintf("/proc/%d/fd/", d.cmd.Process.Pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		d.t.Fatal(err)
	}
	count := 0
	for _, each := range entries {
		if target, err := os.Readlink(folder + each.Name()); err == nil && inodes[target] {
			count++
		}
	}
	return count
}

func TestThePortsOfSandboxdAreLeftToTheUserUnlessTheyAreAskedFor(t *testing.T) {
	for _, env := range [][]string{nil, {sandboxdVariable}, {sandboxdVariable + "0"}} {
		expect(t, fmt.Sprintf("ports with %v", env), strconv.Itoa(serve(t, env...).listening()), "2")
	}
	d, _ := sandboxdDaemon(t)
	expect(t, "ports with sandboxd", strconv.Itoa(d.listening()), "4")
}

// TestSilentClientsOfSandboxdAreCutOff takes a minute, which is how long the daemon waits for a byte of a body.
func TestSilentClientsOfSandboxdAreCutOff(t *testing.T) {
	t.Parallel()
	d, base := sandboxdDaemon(t)
	const grpc = "POST /process.v1.ProcessService/Execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
	var clients sync.WaitGroup
	for name, row := range map[string]struct{ url, sent, want string }{
		"a file":                  {d.filesURL, "PUT /v1/files/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nbegun", "HTTP/1.1 408 "},
		"a file on a wrong route": {d.filesURL, "PUT /v1/none HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nbegun", "HTTP/1.1 404 "},
		"an upload to port 8888":  {d.execURL, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 99\r\n\r\n--b", "HTTP/1.1 400 "},
		"a message":               {d.processesURL, grpc, "HTTP/1.1 "},
		"the preface of HTTP/2":   {d.processesURL, "PRI * HTTP/2.0\r\n", ""},
		"the beginning of a head": {d.processesURL, "P", ""},
	} {
		// Go runs as many parallel subtests as there are cores, and each of these would wait a minute.
		clients.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(row.url, "http://"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute + patience))
			_, _ = io.WriteString(conn, row.sent)
			said, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(said), row.want) {
				t.Errorf("%s: %v, %q", name, err, said)
			}
		})
	}
	clients.Wait()
	left, _ := os.ReadDir(base)
	expect(t, "files of the broken upload", strconv.Itoa(len(left)), "0")
}
