package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tunnel opens a tunnel to a port, with a proof if it is not empty, and returns the connection after the response headers.
func tunnel(t *testing.T, d *daemon, port int, proof string) (net.Conn, *bufio.Reader, int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "GET /sandlot/tunnel?port=%d HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: sandlot-tunnel\r\nX-Sandlot-Gateway: 1\r\n", port)
	if proof != "" {
		fmt.Fprintf(conn, "X-Sandlot-Proof: %s\r\n", proof)
	}
	_, _ = io.WriteString(conn, "\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, reader, response.StatusCode
}

// startEchoServer starts a server that reads to the end and answers with its input in capitals.
func startEchoServer(t *testing.T, network, address string) int {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				heard, _ := io.ReadAll(conn)
				_, _ = conn.Write([]byte(strings.ToUpper(string(heard))))
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestTheTunnelReachesServersOnLoopback(t *testing.T) {
	ours, env := install(t)
	d := serve(t, env...)
	const body = `{"accessToken":"the gateway has none"}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	for name, port := range map[string]int{
		"IPv4": startEchoServer(t, "tcp4", "127.0.0.1:0"),
		"IPv6": startEchoServer(t, "tcp6", "[::1]:0"),
	} {
		conn, reader, status := tunnel(t, d, port, ours.prove(sandboxUID, "127.0.0.1", time.Now()))
		expect(t, name+" status", strconv.Itoa(status), "101")
		said := strings.Repeat("hello ", 100_000)
		go func() {
			_, _ = io.WriteString(conn, said)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		heard, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, name+" bytes after the end of the request", strconv.FormatBool(string(heard) == strings.ToUpper(said)), "true")
	}
}

func TestTheTunnelReportsAClosedPort(t *testing.T) {
	d := serve(t)
	_, _, status := tunnel(t, d, freePort(t), "")
	expect(t, "status", strconv.Itoa(status), "502")
	upgrade := header{"Connection": "Upgrade", "Upgrade": "sandlot-tunnel"}
	for name, row := range map[string]struct {
		path   string
		header header
	}{
		"no port":        {"/sandlot/tunnel", upgrade},
		"a port of many": {"/sandlot/tunnel?port=65536", upgrade},
		"no upgrade":     {"/sandlot/tunnel?port=1", nil},
		"another target": {"/sandlot/tunnel?port=1", header{"Connection": "Upgrade", "Upgrade": "websocket"}},
	} {
		got := d.request("GET", row.path, row.header, nil)
		expect(t, name, strconv.Itoa(got.status), "400")
	}
}

func TestTheTunnelIsClosedToAllButTheGateway(t *testing.T) {
	ours, env := install(t)
	others, _ := install(t)
	d := serve(t, env...)
	const body = `{"accessToken":"token"}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	d.token = "token"
	port := startEchoServer(t, "tcp4", "127.0.0.1:0")
	for _, row := range []struct {
		name, proof string
		status      int
	}{
		{"the constant header of earlier releases alone", "", 401},
		{"another installation", others.prove(sandboxUID, "127.0.0.1", time.Now()), 401},
		{"what another sandbox received", ours.prove("other", "127.0.0.1", time.Now()), 401},
		{"what this sandbox received at another address", ours.prove(sandboxUID, "127.0.0.2", time.Now()), 401},
		{"what this sandbox received an hour ago", ours.prove(sandboxUID, "127.0.0.1", time.Now().Add(-time.Hour)), 401},
		{"the gateway", ours.prove(sandboxUID, "127.0.0.1", time.Now()), 101},
	} {
		_, _, status := tunnel(t, d, port, row.proof)
		expect(t, row.name, strconv.Itoa(status), strconv.Itoa(row.status))
	}
	keyless := serve(t, append(env, "SANDLOT_GATEWAY_PUBLIC_KEYS=")...)
	keyless.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	_, _, status := tunnel(t, keyless, port, ours.prove(sandboxUID, "127.0.0.1", time.Now()))
	expect(t, "without the key of the gateway", strconv.Itoa(status), "401")
}

// raw sends a request target to the agent-sandbox API unchanged; Go's HTTP client would clean it.
func (d *daemon) raw(target string) answer {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.execURL, "http://"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}
