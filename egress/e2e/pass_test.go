package e2e

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sandlot.dev/egress/internal/planetest"
	"sandlot.dev/egress/internal/serve"
)

const (
	allowed = "passed.test.example"
	other   = "other.test.example"
)

// echoHost answers with what the upstream was asked for.
var echoHost = http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
	_, _ = io.WriteString(writer, request.Host+" "+request.URL.RequestURI()+" "+request.Proto)
})

func startPassed(t *testing.T, options ...planetest.Option) *planetest.Plane {
	t.Helper()
	plane := planetest.Start(t, []string{allowed, other}, options...)
	plane.ServeTLS(echoHost, allowed, other)
	plane.Allow(planetest.SandboxA, map[string]any{"names": []string{allowed}})
	return plane
}

func TestPassesAnAllowedNameUnopened(t *testing.T) {
	plane := startPassed(t)
	for protocol, want := range map[int]string{1: "HTTP/1.1", 2: "HTTP/2.0"} {
		client := plane.Client(planetest.SandboxA, protocol)
		response, err := client.Get(plane.URL(allowed, "/a?b=c;d"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if !strings.Contains(string(body), " /a?b=c;d "+want) {
			t.Errorf("HTTP/%d: %s", protocol, body)
		}
		if issuer := response.TLS.PeerCertificates[0]; !response.TLS.HandshakeComplete || issuer.VerifyHostname(other) != nil {
			t.Error("the certificate is not that of the upstream")
		}
	}
}

// alertOf returns the number of the alert by which TLS was refused.
func alertOf(t *testing.T, plane *planetest.Plane, source, name string) string {
	t.Helper()
	return alertOver(plane, plane.Dial(source, plane.TLS), name)
}

// alertOver does the same over a connection. A client of CONNECT reads the answer to that first.
func alertOver(plane *planetest.Plane, conn net.Conn, name string) string {
	config := plane.ClientTLS()
	config.ServerName, config.InsecureSkipVerify = name, true
	if err := tls.Client(conn, config).Handshake(); err != nil {
		return err.Error()
	}
	return "connected"
}

func TestRefusesNamesInTheWordsOfTLS(t *testing.T) {
	plane := startPassed(t)
	for name, want := range map[string]string{
		allowed:          "connected",
		other:            "access denied",
		"sub." + allowed: "access denied",
		"evil" + allowed: "access denied",
		"":               "unrecognized name",
		"127.0.2.1":      "unrecognized name",
		"localhost":      "unrecognized name",
	} {
		if got := alertOf(t, plane, planetest.SandboxA, name); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if got := alertOf(t, plane, planetest.SandboxB, allowed); !strings.Contains(got, "EOF") && !strings.Contains(got, "reset") {
		t.Errorf("a source that is no sandbox: %s", got)
	}
}

// The name in TLS decides where the connection goes. The client cannot choose the address.
func TestAForgedNameLeadsToThatName(t *testing.T) {
	plane := startPassed(t)
	config := plane.ClientTLS()
	config.ServerName = allowed
	conn := tls.Client(plane.Dial(planetest.SandboxA, plane.TLS), config)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := conn.ConnectionState().PeerCertificates[0].VerifyHostname(allowed); err != nil {
		t.Error(err)
	}
}

func TestClosesWhatIsNotTLS(t *testing.T) {
	plane := startPassed(t)
	for name, text := range map[string]string{
		"a plain request":  "GET / HTTP/1.1\r\nHost: " + allowed + "\r\n\r\n",
		"SSH":              "SSH-2.0-OpenSSH_9.6\r\n",
		"a record of zero": "\x16\x03\x01\x00\x00\x00\x00\x00\x00",
		"a long record":    "\x16\x03\x01\xff\xff" + strings.Repeat("a", 70_000),
	} {
		conn := plane.Dial(planetest.SandboxA, plane.TLS)
		go func() { _, _ = io.WriteString(conn, text) }()
		_ = conn.SetReadDeadline(time.Now().Add(8 * time.Second))
		_, err := io.ReadAll(conn)
		if network, is := errors.AsType[net.Error](err); is && network.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
	}
}

func TestReachesNoAddressThatIsBlockedOrOutsideTheTemplate(t *testing.T) {
	plane := startPassed(t)
	for _, record := range []string{
		allowed + ". 0 IN A 10.0.0.1", allowed + ". 0 IN A 169.254.169.254", allowed + ". 0 IN AAAA ::ffff:10.0.0.1",
		allowed + ". 0 IN AAAA 64:ff9b::10.0.0.1", allowed + ". 0 IN AAAA 2002:a00:1::", allowed + ". 0 IN A 192.0.2.1",
	} {
		plane.Names.Set(t, record)
		if got := alertOf(t, plane, planetest.SandboxA, allowed); !strings.Contains(got, "internal error") {
			t.Errorf("%s: %s", record, got)
		}
	}
	plane.Eventually("the refusals were reported", func() bool { return plane.Refused()["forbidden_address tls "+allowed] == 6 })
}

// What the claim denies is open to names of the list only.
func TestAnOpenSandboxKeepsToWhatItsClaimDenies(t *testing.T) {
	plane := startPassed(t)
	fields := map[string]any{"closed": false, "denied": []string{"127.0.2.0/24"}}
	plane.Allow(planetest.SandboxA, fields)
	if got := alertOf(t, plane, planetest.SandboxA, allowed); !strings.Contains(got, "internal error") {
		t.Error(got)
	}
	fields["names"] = []string{allowed}
	plane.Allow(planetest.SandboxA, fields)
	if got := alertOf(t, plane, planetest.SandboxA, allowed); got != "connected" {
		t.Error(got)
	}
}

// A claim may have taken it and closed it, and the watch has not shown that yet.
func TestAnOpenSandboxWithoutAClaimReachesNothingByTheProxy(t *testing.T) {
	plane := startPassed(t)
	for claim, want := range map[string]string{"c": "connected", "": "access denied"} {
		plane.Allow(planetest.SandboxA, map[string]any{"closed": false, "claimUid": claim})
		if got := alertOf(t, plane, planetest.SandboxA, allowed); !strings.Contains(got, want) {
			t.Errorf("with the claim %q: %s", claim, got)
		}
	}
}

func TestObservesWhatAListWouldRefuse(t *testing.T) {
	plane := startPassed(t)
	plane.Allow(planetest.SandboxA, map[string]any{"observe": true, "names": []string{allowed}})
	for _, name := range []string{allowed, other} {
		if got := alertOf(t, plane, planetest.SandboxA, name); got != "connected" {
			t.Errorf("%s: %s", name, got)
		}
	}
	plane.Eventually("what the list does not have was reported", func() bool { return plane.Refused()["observed tls "+other] == 1 })
	if plane.Refused()["observed tls "+allowed] != 0 {
		t.Error("a name of the list was reported")
	}
}

func TestAPortOfTheListIsTheOnlyOne(t *testing.T) {
	plane := startPassed(t)
	plane.Allow(planetest.SandboxA, map[string]any{"names": []string{allowed + ":1"}})
	if got := alertOf(t, plane, planetest.SandboxA, allowed); !strings.Contains(got, "access denied") {
		t.Error(got)
	}
}

func TestBoundsTheConnectionsOfASandbox(t *testing.T) {
	plane := startPassed(t, func(settings *serve.Settings) { settings.Limits.Open = 3 })
	plane.Allow(planetest.SandboxB, map[string]any{"names": []string{allowed}})
	config := plane.ClientTLS()
	config.ServerName = allowed
	for index := range 3 {
		if err := tls.Client(plane.Dial(planetest.SandboxA, plane.TLS), config).Handshake(); err != nil {
			t.Fatalf("connection %d: %v", index, err)
		}
	}
	if got := alertOf(t, plane, planetest.SandboxA, allowed); got == "connected" {
		t.Error("a fourth connection is open")
	}
	if got := alertOf(t, plane, planetest.SandboxB, allowed); got != "connected" {
		t.Errorf("another sandbox: %s", got)
	}
}

func TestBoundsTheRateOfASandbox(t *testing.T) {
	plane := startPassed(t, func(settings *serve.Settings) { settings.Limits.PerSecond = 1 })
	refused := 0
	for range 30 {
		if alertOf(t, plane, planetest.SandboxA, allowed) != "connected" {
			refused++
		}
	}
	if refused == 0 {
		t.Error("all connections were taken")
	}
}
