// Package e2e tests the built binary over real connections and with real processes, as clients meet it.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait, so that a test fails instead of hanging. No test measures time with it.
const patience = 30 * time.Second

// program is the path of the daemon under test, built with the release flags.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "sandlot-runtime-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "sandlot-runtime")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "../cmd/sandlot-runtime")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the daemon: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// daemon is a running `sandlot-runtime serve`.
type daemon struct {
	t       *testing.T
	dir     string
	port    int
	url     string
	execURL string
	// filesURL and processesURL are those of sandboxd; empty: the daemon does not serve its dialect.
	filesURL, processesURL string
	token                  string
	// proof is that of the gateway; empty: requests carry none.
	proof string
	cmd   *exec.Cmd
	said  *safeBuffer
}

type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// serve starts a daemon in debug mode on free ports; env adds to or replaces its environment.
func serve(t *testing.T, env ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: t.TempDir(), port: freePort(t)}
	execPort := freePort(t)
	d.url, d.execURL = "http://127.0.0.1:"+strconv.Itoa(d.port), "http://127.0.0.1:"+strconv.Itoa(execPort)
	for _, each := range env {
		if ports, found := strings.CutPrefix(each, sandboxdVariable); found {
			files, processes, _ := strings.Cut(ports, ",")
			d.filesURL, d.processesURL = "http://127.0.0.1:"+files, "http://127.0.0.1:"+processes
		}
	}
	base := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "DAEMON_SECRET=not for the tenant",
		"SANDLOT_RUNTIME_DIR=" + d.dir, "SANDLOT_MARKS_DIR=" + filepath.Join(d.dir, "e2b"), "SANDLOT_ENVD_PORT=" + strconv.Itoa(d.port), "SANDLOT_EXEC_PORT=" + strconv.Itoa(execPort),
	}
	d.start(append(base, withMode(env)...))
	return d
}

// withMode asks for debug mode where the environment has no key.
func withMode(env []string) []string {
	for _, each := range env {
		if strings.HasPrefix(each, "SANDLOT_RUNTIME_PUBLIC_KEY=") {
			return env
		}
	}
	return append([]string{"SANDLOT_RUNTIME_UNPROTECTED=true"}, env...)
}

func (d *daemon) start(env []string) {
	d.t.Helper()
	d.said = &safeBuffer{}
	d.cmd = exec.Command(program, "serve")
	d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = env, d.said, d.said
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(d.stop)
	d.awaitHealth()
}

func (d *daemon) awaitHealth() {
	d.t.Helper()
	for deadline := time.Now().Add(patience); !healthy(d.url); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("the daemon does not answer; its output: %s", d.said)
		}
	}
}

// stop ends the daemon with SIGTERM and checks that it logged nothing.
func (d *daemon) stop() {
	if d.cmd.ProcessState != nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("the daemon ended with %v; its output: %s", err, d.said)
	}
	if said := d.said.String(); strings.Contains(said, "panic") || strings.Contains(said, "DATA RACE") {
		d.t.Errorf("unexpected output of the daemon: %s", said)
	}
}

// restart ends the daemon and starts it again with the same folder and ports.
func (d *daemon) restart() {
	d.t.Helper()
	d.stop()
	d.start(d.cmd.Env)
}

func healthy(url string) bool {
	response, err := http.Get(url + "/health")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusNoContent
}

// freePort returns a port below those that the kernel gives to clients: with one of these a client may be faster than the daemon.
func freePort(t *testing.T) int {
	t.Helper()
	var last error
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err == nil {
			_ = listener.Close()
			return port
		}
		last = err
	}
	t.Fatal(last)
	return 0
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatal("timed out waiting until " + what)
}

// answer is a complete HTTP response.
type answer struct {
	status int
	header http.Header
	body   string
}

type header map[string]string

// request sends a plain request to the daemon's port, with its token.
func (d *daemon) request(method, path string, h header, body io.Reader) answer {
	d.t.Helper()
	return d.send(d.url, method, path, h, body)
}

func (d *daemon) send(base, method, path string, h header, body io.Reader) answer {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	d.dress(request, h)
	response, err := plainTransport.RoundTrip(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		d.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(content)}
}

// newRequest returns a request with the token, for tests that read the response themselves.
func (d *daemon) newRequest(method, path string, h header, body io.Reader) *http.Request {
	d.t.Helper()
	request, err := http.NewRequest(method, d.url+path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	d.dress(request, h)
	return request
}

// plainTransport adds no headers to requests and decodes no responses.
var plainTransport = &http.Transport{DisableCompression: true}

func (d *daemon) dress(request *http.Request, h header) {
	if d.token != "" {
		request.Header.Set("X-Access-Token", d.token)
	}
	if d.proof != "" {
		request.Header.Set("X-Sandlot-Proof", d.proof)
	}
	for name, value := range h {
		request.Header.Set(name, value)
	}
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
