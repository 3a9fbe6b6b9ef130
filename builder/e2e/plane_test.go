// Package e2e tests the whole plane over its socket, with the distribution registry and with registries that mean harm.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandlot.dev/builder/internal/serve"
)

// patience bounds every wait, so that a test fails instead of hanging. No test measures time with it.
const patience = 30 * time.Second

// plane is a running image plane.
type plane struct {
	t      testing.TB
	client *http.Client
	admin  string
	log    *buffer
	stop   context.CancelFunc
	ended  chan error
	once   sync.Once
}

// buffer is safe for concurrent use.
type buffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(data)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// local lets tenants of a test use registries on loopback without TLS.
var local = []string{"-plain-http=127.0.0.1:*,localhost:*", "-private-addresses=127.0.0.0/8,::1/128", "-tenant-registries=127.0.0.1:*,localhost:*"}

func startPlane(t testing.TB, args ...string) *plane {
	t.Helper()
	socket, admin := filepath.Join(t.TempDir(), "socket"), freeAddress(t)
	settings, err := serve.ReadSettings(append([]string{"-socket=" + socket, "-admin=" + admin, "-architecture=amd64", "-drain=5s"}, args...), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &plane{t: t, admin: "http://" + admin, log: &buffer{}, stop: cancel, ended: make(chan error, 1)}
	dialer := net.Dialer{}
	p.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", socket)
	}}}
	go func() { p.ended <- serve.Run(ctx, settings, slog.New(slog.NewJSONHandler(p.log, nil))) }()
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("log of the plane:\n%s", p.log)
		}
	})
	eventually(t, "the plane is ready", func() bool {
		response, err := http.Get(p.admin + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		_, err = os.Stat(socket)
		return response.StatusCode == http.StatusOK && err == nil
	})
	return p
}

// end asks for the end and waits for it.
func (p *plane) end() {
	p.once.Do(func() {
		p.client.CloseIdleConnections()
		p.stop()
		if err := <-p.ended; err != nil {
			p.t.Errorf("the plane ended: %v", err)
		}
	})
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// answer is what the plane said.
type answer struct {
	status int
	header http.Header
	body   string
}

// read decodes a good answer.
func (a answer) read(t testing.TB, into any) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("the answer is %d %s", a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatal(err)
	}
}

// String is the reason and the message of a refusal.
func (a answer) String() string {
	var refusal struct{ Reason, Message string }
	if json.Unmarshal([]byte(a.body), &refusal) != nil || refusal.Reason == "" {
		return fmt.Sprintf("%d %s", a.status, a.body)
	}
	return refusal.Reason + ": " + refusal.Message
}

func (p *plane) send(method, path string, body io.Reader) (answer, error) {
	request, err := http.NewRequest(method, "http://plane"+path, body)
	if err != nil {
		return answer{}, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// ask sends text as it is, and everything else as JSON.
func (p *plane) ask(method, path string, body any) answer {
	p.t.Helper()
	text, isText := body.(string)
	if !isText && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		text = string(encoded)
	}
	got, err := p.send(method, path, strings.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

func (p *plane) metrics() string {
	p.t.Helper()
	response, err := http.Get(p.admin + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

type object map[string]any

func (p *plane) resolve(image string) answer {
	p.t.Helper()
	return p.ask("POST", "/v1/resolve", object{"image": image})
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}
