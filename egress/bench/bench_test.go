// Package bench measures what the data plane adds to a direct connection. e2e/bench/egress/main.ts runs it and prints a table.
package bench

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"sandlot.dev/egress/internal/planetest"
	"sandlot.dev/egress/internal/serve"
	"sandlot.dev/egress/internal/tell"
)

const (
	passed  = "passed.test.example"
	looked  = "looked.test.example"
	payload = 64 << 20
	idle    = 1_000
)

// unlimited lets one sandbox do what thousands do in a cluster.
func unlimited(settings *serve.Settings) {
	settings.Limits.Open, settings.Limits.PerSecond, settings.DNSPerSec = 1_000_000, 1_000_000, 1_000_000
	settings.Log = tell.None
	settings.Front.Idle = time.Hour
}

func start(b *testing.B) *planetest.Plane {
	b.Helper()
	plane := planetest.Start(b, []string{passed, looked}, unlimited)
	body := make([]byte, 1<<20)
	plane.ServeTLS(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		size, _ := strconv.Atoi(request.URL.Query().Get("size"))
		for ; size > 0; size -= len(body) {
			if _, err := writer.Write(body[:min(size, len(body))]); err != nil {
				return
			}
		}
	}), passed, looked)
	plane.Allow(planetest.SandboxA, rules(true))
	plane.SetValue("key", "sk-live-0123456789")
	return plane
}

func rules(hasNames bool) map[string]any {
	fields := map[string]any{"rules": []any{map[string]any{
		"host": looked, "headers": []any{map[string]any{"name": "Authorization", "value": "Bearer {}", "ref": "key"}},
	}}}
	if hasNames {
		fields["names"] = []string{passed, looked}
	}
	return fields
}

// way is how a client reaches the upstream.
type way struct {
	name string
	host string
	// address is where it connects to.
	address string
}

func ways(plane *planetest.Plane) []way {
	port := strconv.Itoa(int(plane.TLS))
	return []way{
		{"direct", passed, net.JoinHostPort(planetest.Upstream, port)},
		{"passed", passed, net.JoinHostPort(planetest.Proxy, port)},
		{"inspected", looked, net.JoinHostPort(planetest.Proxy, port)},
	}
}

func (w way) connect(b *testing.B, plane *planetest.Plane) *tls.Conn {
	b.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(planetest.SandboxA)}}
	conn, err := dialer.Dial("tcp", w.address)
	if err != nil {
		b.Fatal(err)
	}
	config := plane.ClientTLS()
	config.ServerName, config.NextProtos = w.host, []string{"http/1.1"}
	secure := tls.Client(conn, config)
	if err := secure.Handshake(); err != nil {
		b.Fatal(err)
	}
	return secure
}

func (w way) client(plane *planetest.Plane) *http.Client {
	source := &net.TCPAddr{IP: net.ParseIP(planetest.SandboxA)}
	return plane.ClientTo(source, w.address)
}

func get(b *testing.B, client *http.Client, url string) int64 {
	b.Helper()
	response, err := client.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	count, err := io.Copy(io.Discard, response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.Status, err)
	}
	return count
}

// BenchmarkConnect has the time until TLS is there, and one byte of a request has come back over the whole way.
func BenchmarkConnect(b *testing.B) {
	plane := start(b)
	for _, way := range ways(plane) {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				conn := way.connect(b, plane)
				_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", way.host)
				if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
				_ = conn.Close()
			}
		})
	}
}

// BenchmarkRequest has the time of a request over a connection that is open.
func BenchmarkRequest(b *testing.B) {
	plane := start(b)
	for _, way := range ways(plane) {
		b.Run(way.name, func(b *testing.B) {
			client := way.client(plane)
			url := plane.URL(way.host, "/")
			get(b, client, url)
			for b.Loop() {
				get(b, client, url)
			}
		})
	}
}

// BenchmarkThroughput downloads, and has the processor time of the plane for it.
func BenchmarkThroughput(b *testing.B) {
	plane := start(b)
	for _, way := range ways(plane) {
		b.Run(way.name, func(b *testing.B) {
			client := way.client(plane)
			url := plane.URL(way.host, fmt.Sprintf("/?size=%d", payload))
			b.SetBytes(payload)
			before := cpuTime(b, plane.PID)
			count := 0
			for b.Loop() {
				get(b, client, url)
				count++
			}
			if spent := cpuTime(b, plane.PID) - before; spent > 0 && way.name != "direct" {
				b.ReportMetric(float64(count)*payload/1e6/spent.Seconds(), "MB/core-s")
			}
		})
	}
}

// BenchmarkIdle has the memory of the plane for each of a thousand connections over which nothing comes.
func BenchmarkIdle(b *testing.B) {
	for _, index := range []int{1, 2} {
		plane := start(b)
		way := ways(plane)[index]
		b.Run(way.name, func(b *testing.B) {
			isFirst := true
			for b.Loop() {
				before := residentBytes(b, plane.PID)
				conns := make([]*tls.Conn, idle)
				for index := range conns {
					conns[index] = way.connect(b, plane)
				}
				// Later rounds find the memory that the first one took.
				if isFirst {
					b.ReportMetric((residentBytes(b, plane.PID)-before)/idle/1024, "KiB/conn")
				}
				isFirst = false
				for _, conn := range conns {
					_ = conn.Close()
				}
			}
		})
	}
}

// BenchmarkChange has the time from a change of rules until the connection that it takes away is closed.
func BenchmarkChange(b *testing.B) {
	plane := start(b)
	for _, way := range ways(plane)[1:] {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				plane.Allow(planetest.SandboxA, rules(true))
				conn := way.connect(b, plane)
				b.StartTimer()
				plane.Allow(planetest.SandboxA, rules(false))
				if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					b.Fatal(err)
				}
				_ = conn.Close()
			}
		})
	}
}

// BenchmarkResolve has the time of an answer of the resolver to one client that waits for it.
func BenchmarkResolve(b *testing.B) {
	plane := start(b)
	dialer := &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(planetest.SandboxA)}}
	conn, err := (&dns.Client{Dialer: dialer}).Dial(plane.DNS)
	if err != nil {
		b.Fatal(err)
	}
	question := new(dns.Msg).SetQuestion(dns.Fqdn(passed), dns.TypeA)
	before := cpuTime(b, plane.PID)
	count := 0
	for b.Loop() {
		if err := conn.WriteMsg(question); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.ReadMsg(); err != nil {
			b.Fatal(err)
		}
		count++
	}
	if spent := cpuTime(b, plane.PID) - before; spent > 0 {
		b.ReportMetric(float64(count)/spent.Seconds(), "answers/core-s")
	}
}

// cpuTime is what a process has used of the processors. Zero without a process.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	if pid == 0 {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func residentBytes(b *testing.B, pid int) float64 {
	b.Helper()
	if pid == 0 {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}
