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
)

// tunnel opens a tunnel to a port and returns the connection after the response headers.
func tunnel(t *testing.T, d *daemon, port int) (net.Conn, *bufio.Reader, int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "GET /sandlot/tunnel?port=%d HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: sandlot-tunnel\r\nX-Sandlot-Gateway: 1\r\n\r\n", port)
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
	d := serve(t)
	d.init(nil, `{"accessToken":"the gateway has none"}`)
	for name, port := range map[string]int{
		"IPv4": startEchoServer(t, "tcp4", "127.0.0.1:0"),
		"IPv6": startEchoServer(t, "tcp6", "[::1]:0"),
	} {
		conn, reader, status := tunnel(t, d, port)
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
	_, _, status := tunnel(t, d, freePort(t))
	expect(t, "status", strconv.Itoa(status), "502")
	upgrade := header{"Connection": "Upgrade", "Upgrade": "sandlot-tunnel", "X-Sandlot-Gateway": "1"}
	for name, row := range map[string]struct {
		path   string
		header header
	}{
		"no port":        {"/sandlot/tunnel", upgrade},
		"a port of many": {"/sandlot/tunnel?port=65536", upgrade},
		"no upgrade":     {"/sandlot/tunnel?port=1", header{"X-Sandlot-Gateway": "1"}},
		"no gateway":     {"/sandlot/tunnel?port=1", header{"Connection": "Upgrade", "Upgrade": "sandlot-tunnel"}},
		"another target": {"/sandlot/tunnel?port=1", header{"Connection": "Upgrade", "Upgrade": "websocket", "X-Sandlot-Gateway": "1"}},
	} {
		got := d.request("GET", row.path, row.header, nil)
		expect(t, name, strconv.Itoa(got.status), "400")
	}
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
