// Package planetest starts the whole data plane on loopback for tests: sandboxes, upstreams and the proxy have addresses of their own.
package planetest

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sandlot.dev/egress/internal/conns"
	"sandlot.dev/egress/internal/dnstest"
	"sandlot.dev/egress/internal/front"
	"sandlot.dev/egress/internal/serve"
	"sandlot.dev/egress/internal/tell"
)

// The addresses of the proxy, of the upstreams, and of two sandboxes.
const (
	Proxy      = "127.0.1.1"
	inspecting = "127.0.1.2"
	Upstream   = "127.0.2.1"
	SandboxA   = "127.0.3.1"
	SandboxB   = "127.0.3.2"
)

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// Plane is a data plane that runs.
type Plane struct {
	t testing.TB
	// TLS and HTTP are the ports of the proxy and of the upstreams, and Connect that for CONNECT.
	TLS, HTTP, Connect uint16
	// Daemon is the port on which the daemons of sandboxes are asked.
	Daemon uint16
	admin  string
	// PID is that of the plane, if it is a process of its own.
	PID int
	// Stop ends the plane before the test does, and waits until it has ended.
	Stop func()
	// DNS is where sandboxes ask, and Names has the records of upstreams.
	DNS   string
	Names *dnstest.Server
	// UpstreamCA signs the upstreams.
	UpstreamCA *Authority
	proxyCA    *x509.Certificate
	rules      *Rules
	Log        *Buffer
}

// Option changes the settings before the plane starts.
type Option func(*serve.Settings)

// Start starts a plane with these names of upstreams, all of which lead to the address of the upstreams. It ends with the test.
func Start(t testing.TB, names []string, options ...Option) *Plane {
	t.Helper()
	folder := t.TempDir()
	plane := &Plane{t: t, UpstreamCA: NewAuthority(t), Log: &Buffer{}}
	ports := findPorts(t, 6)
	plane.TLS, plane.HTTP, plane.Connect, plane.Daemon = ports[0], ports[1], ports[2], ports[3]
	adminPort, dnsPort := ports[4], ports[5]
	var records []string
	for _, name := range names {
		records = append(records, name+". 0 IN A "+Upstream)
	}
	plane.Names = dnstest.Start(t, records...)
	authority := NewAuthority(t)
	authority.write(t, folder)
	plane.proxyCA = authority.certificate
	roots := filepath.Join(folder, "roots.pem")
	if err := os.WriteFile(roots, plane.UpstreamCA.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := serve.Settings{
		Bind: Proxy, DNSPort: dnsPort, ProxyPort: plane.Connect, AdminPort: adminPort, DaemonPort: plane.Daemon, Socket: filepath.Join(folder, "rules.sock"),
		Servers: []string{plane.Names.Address}, CA: folder, Roots: roots,
		Front: front.Options{
			Idle: time.Minute, Headers: time.Minute, TLSPorts: []uint16{plane.TLS}, HTTPPorts: []uint16{plane.HTTP}, ByAddress: true,
		},
		Limits: conns.Limits{Open: 256, PerSecond: 10_000}, DNSPerSec: 10_000, Log: tell.All,
	}
	for _, option := range options {
		option(&settings)
	}
	plane.DNS, plane.admin = join(Proxy, dnsPort), join(Proxy, adminPort)
	plane.run(settings)
	plane.rules = connect(t, settings.Socket)
	plane.awaitReady()
	return plane
}

func (p *Plane) run(settings serve.Settings) {
	if program := os.Getenv(programVariable); program != "" {
		p.runProgram(program, settings)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		ended <- serve.Run(ctx, settings, slog.New(slog.NewJSONHandler(p.Log, nil)))
	}()
	<-started
	p.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			p.t.Errorf("the data plane ended with: %v", err)
		}
	})
	p.t.Cleanup(p.Stop)
}

func (p *Plane) awaitReady() {
	p.t.Helper()
	p.Eventually("the plane is ready", func() bool {
		response, err := http.Get("http://" + p.admin + "/readyz")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK
	})
}

// Metrics is the page that a scraper reads.
func (p *Plane) Metrics() string {
	p.t.Helper()
	response, err := http.Get("http://" + p.admin + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(page)
}

// Eventually fails the test unless the check is true before long.
func (p *Plane) Eventually(what string, check func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if check() {
			return
		}
	}
	p.t.Fatalf("it did not happen: %s", what)
}

// Allow says what holds for a sandbox: the fields of a sandbox message beside its UID, which is its address.
func (p *Plane) Allow(address string, fields map[string]any) {
	p.t.Helper()
	sandbox := map[string]any{
		"uid": "uid-of-" + address, "claimUid": "claim-of-" + address, "claim": "box", "namespace": "team", "closed": true,
		"within": []any{map[string]any{"cidr": "127.0.0.0/8"}, map[string]any{"cidr": "::/0"}},
	}
	for name, value := range fields {
		sandbox[name] = value
	}
	p.rules.Push(map[string]any{"type": "sandbox", "address": address, "sandbox": sandbox})
}

// Push sends any message.
func (p *Plane) Push(message map[string]any) { p.t.Helper(); p.rules.Push(message) }

// SetValue gives a reference a value.
func (p *Plane) SetValue(ref, value string) {
	p.t.Helper()
	p.rules.Push(map[string]any{"type": "value", "ref": ref, "value": value})
}

// Rules is a rules process.
type Rules struct {
	t       testing.TB
	conn    net.Conn
	mutex   sync.Mutex
	sent    int64
	applied chan int64
	refused []map[string]any
}

func connect(t testing.TB, socket string) *Rules {
	t.Helper()
	var conn net.Conn
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if conn, err = net.Dial("unix", socket); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	rules := &Rules{t: t, conn: conn, applied: make(chan int64, 1)}
	go rules.read()
	rules.Push(map[string]any{"type": "beat", "ageMs": 0})
	rules.Push(map[string]any{
		"type": "reset", "blocked": []string{"10.0.0.0/8", "169.254.0.0/16"}, "passed": []string{Proxy}, "inspected": []string{inspecting},
	})
	rules.Push(map[string]any{"type": "synced"})
	go rules.beat()
	return rules
}

func (r *Rules) beat() {
	for {
		select {
		case <-r.t.Context().Done():
			return
		case <-time.After(time.Second):
			_, _ = fmt.Fprintln(r.conn, `{"type":"beat","ageMs":0}`)
		}
	}
}

func (r *Rules) read() {
	lines := json.NewDecoder(r.conn)
	for {
		var line map[string]any
		if lines.Decode(&line) != nil {
			close(r.applied)
			return
		}
		if n, isApplied := line["n"].(float64); isApplied && line["type"] == "applied" {
			r.applied <- int64(n)
			continue
		}
		r.mutex.Lock()
		r.refused = append(r.refused, line)
		r.mutex.Unlock()
	}
}

// Push sends a message and waits until it holds.
func (r *Rules) Push(message map[string]any) {
	r.t.Helper()
	r.sent++
	message["n"] = r.sent
	text, err := json.Marshal(message)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.conn.Write(append(text, '\n')); err != nil {
		r.t.Fatal(err)
	}
	for n := range r.applied {
		if n == r.sent {
			return
		}
	}
	r.t.Fatalf("the plane refused %v", message)
}

// Refused returns what the plane reported, as "reason protocol host".
func (p *Plane) Refused() map[string]int {
	p.rules.mutex.Lock()
	defer p.rules.mutex.Unlock()
	counts := map[string]int{}
	for _, line := range p.rules.refused {
		count, _ := line["count"].(float64)
		counts[fmt.Sprintf("%v %v %v", line["reason"], line["protocol"], line["host"])] += int(count)
	}
	return counts
}

func join(host string, port uint16) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// findPorts finds ports that neither the proxy nor the upstreams use. It holds each until it has all: the kernel may hand out
// a port that was given back a second time.
func findPorts(t testing.TB, count int) []uint16 {
	t.Helper()
	var ports []uint16
	for range count {
		listener, err := net.Listen("tcp", join(Upstream, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, netip.MustParseAddrPort(listener.Addr().String()).Port())
	}
	return ports
}
