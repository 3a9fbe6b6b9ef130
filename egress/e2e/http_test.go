package e2e

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sandlot.dev/egress/internal/planetest"
)

func startPlain(t *testing.T) *planetest.Plane {
	t.Helper()
	plane := startRuled(t)
	plane.ServeHTTP(echoRequest)
	return plane
}

func TestPlainHTTPGoesWhereItsHostLeads(t *testing.T) {
	plane := startPlain(t)
	client := plane.Client(planetest.SandboxA, 1)
	for _, test := range []struct {
		host, code string
		status     int
	}{
		{allowed, "", 200},
		{other, "egress_denied", 403},
		{api, "egress_tls_required", 403},
		{"127.0.2.1", "egress_bad_host", 400},
		{"[::1]", "egress_bad_host", 400},
	} {
		request := newRequest(t, http.MethodGet, plane.PlainURL(allowed, "/"))
		request.Host = test.host
		response, seen := send(t, client, request)
		if code := response.Header.Get("X-Sandlot-Egress"); response.StatusCode != test.status || code != test.code {
			t.Errorf("%s: %d %s", test.host, response.StatusCode, code)
		}
		if test.status == http.StatusOK && seen.Headers.Get("Authorization") != "" {
			t.Error("a credential went out in the clear")
		}
	}
}

func TestConnectLeadsToTheNameThatItSays(t *testing.T) {
	plane := startPlain(t)
	client := plane.ProxyClient(planetest.SandboxA)
	if _, seen := send(t, client, newRequest(t, http.MethodGet, plane.URL(allowed, "/passed"))); seen.Target != "/passed" {
		t.Errorf("the upstream saw %+v", seen)
	}
	if _, seen := send(t, client, newRequest(t, http.MethodGet, plane.URL(api, "/ruled"))); seen.Headers.Get("Authorization") != "Bearer "+key {
		t.Errorf("the upstream saw %+v", seen)
	}
	if _, seen := send(t, client, newRequest(t, http.MethodGet, plane.PlainURL(allowed, "/plain"))); seen.Target != "/plain" {
		t.Errorf("the upstream saw %+v", seen)
	}
}

// exchange writes to a port of the proxy and returns the first line of the answer.
func exchange(t *testing.T, plane *planetest.Plane, port uint16, text string) string {
	t.Helper()
	conn := plane.Dial(planetest.SandboxA, port)
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestRefusesConnectThatLeadsElsewhere(t *testing.T) {
	plane := startPlain(t)
	for target, want := range map[string]string{
		fmt.Sprintf("%s:%d", other, plane.TLS):    "403",
		fmt.Sprintf("%s:%d", allowed, plane.HTTP): "403",
		allowed + ":22":                        "403",
		fmt.Sprintf("127.0.2.1:%d", plane.TLS): "400",
		fmt.Sprintf("[::1]:%d", plane.TLS):     "400",
		fmt.Sprintf("localhost:%d", plane.TLS): "400",
	} {
		got := exchange(t, plane, plane.Connect, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	for _, port := range []uint16{plane.HTTP} {
		got := exchange(t, plane, port, fmt.Sprintf("CONNECT %s:%d HTTP/1.1\r\nHost: a\r\n\r\n", allowed, plane.TLS))
		if !strings.HasPrefix(got, "HTTP/1.1 405") {
			t.Errorf("CONNECT at the port for plain HTTP: %s", got)
		}
	}
}

// oneByOne leaves what follows the answer in the connection.
type oneByOne struct{ io.Reader }

func (o oneByOne) Read(into []byte) (int, error) { return o.Reader.Read(into[:1]) }

// CONNECT to an allowed name, and TLS for another that is allowed as well, or that is not.
func TestTheNameInTLSMustBeThatOfConnect(t *testing.T) {
	plane := startPlain(t)
	for name, want := range map[string]string{allowed: "connected", api: "access denied", other: "access denied"} {
		conn := plane.Dial(planetest.SandboxA, plane.Connect)
		target := fmt.Sprintf("%s:%d", allowed, plane.TLS)
		if _, err := io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := http.ReadResponse(bufio.NewReaderSize(oneByOne{conn}, 16), &http.Request{Method: http.MethodConnect}); err != nil {
			t.Fatal(err)
		}
		if got := alertOver(plane, conn, name); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestCredentialsForTheProxyMustBeThoseOfTheSandbox(t *testing.T) {
	plane := startPlain(t)
	proof := base64.StdEncoding.EncodeToString([]byte("proof of the sandbox"))
	fields := ruled(nil)
	fields["proofs"] = []string{proof}
	plane.Allow(planetest.SandboxA, fields)
	uid := "uid-of-" + planetest.SandboxA
	for user, want := range map[*url.Userinfo]string{
		url.UserPassword(uid, proof):            "200",
		url.UserPassword(uid, "wrong"):          "407",
		url.UserPassword("uid-of-other", proof): "407",
	} {
		password, _ := user.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		target := fmt.Sprintf("%s:%d", allowed, plane.TLS)
		got := exchange(t, plane, plane.Connect, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\nProxy-Authorization: Basic "+credentials+"\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%s: %s, want %s", user.Username(), got, want)
		}
	}
	// Right credentials do not widen the list.
	credentials := base64.StdEncoding.EncodeToString([]byte(uid + ":" + proof))
	target := fmt.Sprintf("%s:%d", other, plane.TLS)
	got := exchange(t, plane, plane.Connect, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\nProxy-Authorization: Basic "+credentials+"\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 403") {
		t.Errorf("%s: %s", other, got)
	}
}
