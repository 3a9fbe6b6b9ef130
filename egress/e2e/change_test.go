package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sandlot.dev/egress/internal/identity"
	"sandlot.dev/egress/internal/planetest"
	"sandlot.dev/egress/internal/serve"

	"encoding/json"
)

// talk is an upstream that echoes bytes once a connection was upgraded, and streams a line at a time otherwise.
var talk = http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Upgrade") == "" {
		control := http.NewResponseController(writer)
		for request.Context().Err() == nil {
			_, _ = io.WriteString(writer, "tick "+request.Header.Get("Authorization")+"\n")
			_ = control.Flush()
			time.Sleep(10 * time.Millisecond)
		}
		return
	}
	conn, buffered, err := http.NewResponseController(writer).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Seen: %d\r\n\r\n",
		len(request.Header.Get("Authorization")))
	_, _ = io.Copy(conn, buffered)
})

// isEnded says whether a connection ends before long.
func isEnded(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(8 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	network, is := err.(net.Error)
	return !is || !network.Timeout()
}

func openTLS(t *testing.T, plane *planetest.Plane, source, name string) *tls.Conn {
	t.Helper()
	config := plane.ClientTLS()
	config.ServerName, config.NextProtos = name, []string{"http/1.1"}
	conn := tls.Client(plane.Dial(source, plane.TLS), config)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	return conn
}

// upgrade opens a connection of another protocol through the proxy, as WebSocket does.
func upgrade(t *testing.T, plane *planetest.Plane, source, name string) net.Conn {
	t.Helper()
	conn := openTLS(t, plane, source, name)
	_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", name)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v %v", answer, err)
	}
	_, _ = io.WriteString(conn, "ping\n")
	if line, err := reader.ReadString('\n'); line != "ping\n" {
		t.Fatalf("%q %v", line, err)
	}
	return conn
}

// stream opens an answer that does not end.
func stream(t *testing.T, plane *planetest.Plane, source, name string) net.Conn {
	t.Helper()
	conn := openTLS(t, plane, source, name)
	_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", name)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return conn
}

func startTalk(t *testing.T) *planetest.Plane {
	t.Helper()
	plane := planetest.Start(t, []string{api, allowed})
	plane.ServeTLS(talk, api, allowed)
	for _, source := range []string{planetest.SandboxA, planetest.SandboxB} {
		plane.Allow(source, ruled(nil))
	}
	plane.SetValue("key", key)
	return plane
}

func TestAChangeEndsWhatItNoLongerAllowsAndNothingElse(t *testing.T) {
	for name, change := range map[string]func(plane *planetest.Plane){
		"the names go": func(plane *planetest.Plane) { plane.Allow(planetest.SandboxA, map[string]any{}) },
		"the sandbox goes": func(plane *planetest.Plane) {
			plane.Push(map[string]any{"type": "gone", "address": planetest.SandboxA})
		},
		"the claim goes": func(plane *planetest.Plane) {
			fields := ruled(nil)
			fields["claimUid"] = ""
			plane.Allow(planetest.SandboxA, fields)
		},
		"the template closes the address of the upstream": func(plane *planetest.Plane) {
			plane.Allow(planetest.SandboxA, elsewhere())
		},
		"another sandbox gets the address": func(plane *planetest.Plane) {
			fields := ruled(nil)
			fields["uid"] = "another"
			plane.Allow(planetest.SandboxA, fields)
		},
	} {
		t.Run(name, func(t *testing.T) {
			plane := startTalk(t)
			open := []net.Conn{
				upgrade(t, plane, planetest.SandboxA, api), stream(t, plane, planetest.SandboxA, api),
				upgrade(t, plane, planetest.SandboxA, allowed), stream(t, plane, planetest.SandboxA, allowed),
			}
			stays := upgrade(t, plane, planetest.SandboxB, api)
			change(plane)
			for index, conn := range open {
				if !isEnded(conn) {
					t.Errorf("connection %d goes on", index)
				}
			}
			_, _ = io.WriteString(stays, "still\n")
			if line, err := bufio.NewReader(stays).ReadString('\n'); line != "still\n" {
				t.Errorf("another sandbox lost its connection: %q %v", line, err)
			}
		})
	}
}

// elsewhere are fields by which no name of the sandbox leads to the upstream.
func elsewhere() map[string]any {
	fields := ruled(nil)
	fields["within"] = []any{map[string]any{"cidr": "203.0.113.0/24"}}
	return fields
}

func TestNoRequestTakesAnOpenConnectionToAnAddressThatIsClosed(t *testing.T) {
	plane := startRuled(t)
	plane.ServeHTTP(echoRequest)
	for _, url := range []string{plane.URL(api, "/"), plane.PlainURL(allowed, "/")} {
		plane.Allow(planetest.SandboxA, ruled(nil))
		client := plane.Client(planetest.SandboxA, 1)
		if response, _ := send(t, client, newRequest(t, http.MethodGet, url)); response.StatusCode != http.StatusOK {
			t.Fatal(response.Status)
		}
		plane.Allow(planetest.SandboxA, elsewhere())
		response, _ := send(t, plane.Client(planetest.SandboxA, 1), newRequest(t, http.MethodGet, url))
		if code := response.Header.Get("X-Sandlot-Egress"); code != "egress_address_denied" {
			t.Errorf("%s: %s %q", url, response.Status, code)
		}
	}
}

func TestARuleThatGoesEndsItsConnectionsOnly(t *testing.T) {
	plane := startTalk(t)
	of, stays := upgrade(t, plane, planetest.SandboxA, api), upgrade(t, plane, planetest.SandboxA, allowed)
	plane.Allow(planetest.SandboxA, map[string]any{"names": []string{api, allowed}})
	if !isEnded(of) {
		t.Error("the connection under the rule goes on")
	}
	_, _ = io.WriteString(stays, "still\n")
	if line, err := bufio.NewReader(stays).ReadString('\n'); line != "still\n" {
		t.Errorf("a connection without a rule ended: %q %v", line, err)
	}
}

func TestARuleThatComesEndsConnectionsThatWerePassed(t *testing.T) {
	plane := startTalk(t)
	conn := upgrade(t, plane, planetest.SandboxA, allowed)
	fields := ruled(map[string]any{"host": "*.test.example"})
	plane.Allow(planetest.SandboxA, fields)
	if !isEnded(conn) {
		t.Error("it goes on without being looked into")
	}
}

func TestAValueThatGoesEndsWhatWasUpgradedWithIt(t *testing.T) {
	plane := startTalk(t)
	conn := upgrade(t, plane, planetest.SandboxA, api)
	plane.Push(map[string]any{"type": "value", "ref": "key"})
	if !isEnded(conn) {
		t.Error("it goes on")
	}
}

func TestATunnelEndsWithItsName(t *testing.T) {
	plane := startTalk(t)
	conn := plane.Dial(planetest.SandboxA, plane.Connect)
	target := fmt.Sprintf("%s:%d", allowed, plane.TLS)
	_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReaderSize(oneByOne{conn}, 16), &http.Request{Method: http.MethodConnect}); err != nil {
		t.Fatal(err)
	}
	if got := alertOver(plane, conn, allowed); got != "connected" {
		t.Fatal(got)
	}
	plane.Allow(planetest.SandboxA, map[string]any{})
	if !isEnded(conn) {
		t.Error("the tunnel goes on")
	}
}

// serveDaemon answers as the daemon of a sandbox that knows a proof.
func serveDaemon(t *testing.T, plane *planetest.Plane, address string, answer func(nonce []byte) []byte) {
	t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, plane.Daemon))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var asked identity.Question
		if request.URL.Path != "/egress/prove" || json.NewDecoder(request.Body).Decode(&asked) != nil {
			writer.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(writer).Encode(identity.Answer{MAC: answer(asked.Nonce)})
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// The address of a Pod that is gone may be another tenant's before the watch has said so: only its daemon can prove who it is.
func TestNoCredentialGoesOutWithoutAProof(t *testing.T) {
	proof := []byte("the proof of the sandbox")
	own := netip.MustParseAddr(planetest.SandboxA)
	for name, test := range map[string]struct {
		answer func([]byte) []byte
		served bool
	}{
		"the right proof": {func(nonce []byte) []byte { return identity.Compute(proof, own, nonce) }, true},
		"another proof":   {func(nonce []byte) []byte { return identity.Compute([]byte("another"), own, nonce) }, false},
		"the answer of the true owner, at another address": {func(nonce []byte) []byte {
			return identity.Compute(proof, netip.MustParseAddr(planetest.SandboxB), nonce)
		}, false},
		"an empty answer":        {func([]byte) []byte { return nil }, false},
		"an answer that is late": {func(nonce []byte) []byte { time.Sleep(2 * identity.Limit); return identity.Compute(proof, own, nonce) }, false},
		"no daemon":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			plane := startRuled(t, func(settings *serve.Settings) { settings.Front.ByAddress = false })
			if test.answer != nil {
				serveDaemon(t, plane, planetest.SandboxA, test.answer)
			}
			fields := ruled(nil)
			// The installation changes its key: the daemon has one of the two proofs.
			fields["proofs"] = [][]byte{[]byte("the proof by the next key"), proof}
			plane.Allow(planetest.SandboxA, fields)
			request := newRequest(t, http.MethodGet, plane.URL(api, "/"))
			response, seen := send(t, plane.Client(planetest.SandboxA, 1), request)
			if served := response.StatusCode == http.StatusOK; served != test.served {
				t.Errorf("it is served: %v (%s)", served, response.Status)
			}
			if !test.served && (response.Header.Get("X-Sandlot-Egress") != "egress_not_proven" || len(seen.Headers) > 0) {
				t.Errorf("the upstream saw %v, and the client %v", seen.Headers, response.Header)
			}
			// A name without a rule needs no proof.
			if _, seen := send(t, plane.Client(planetest.SandboxA, 1), newRequest(t, http.MethodGet, plane.URL(allowed, "/"))); seen.Target != "/" {
				t.Error("a name without a rule is closed")
			}
			if !test.served {
				plane.Eventually("it was reported", func() bool { return plane.Refused()["egress_not_proven https "+api] > 0 })
			}
		})
	}
}

// Each question is a connection of the proxy, and a sandbox may send hundreds of requests at a time.
func TestADaemonIsAskedOnceForAConnection(t *testing.T) {
	plane := startRuled(t, func(settings *serve.Settings) { settings.Front.ByAddress = false })
	fields := ruled(nil)
	fields["proofs"] = [][]byte{[]byte("the proof of the sandbox")}
	plane.Allow(planetest.SandboxA, fields)
	client := plane.Client(planetest.SandboxA, 2)
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			if response, err := client.Get(plane.URL(api, "/")); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	asking.Wait()
	// Both are counted when they end, in either order.
	plane.Eventually("there was one question for each connection", func() bool {
		asked := count(t, plane, `proofs_total{result="failed"}`)
		shaken := count(t, plane, `handshakes_total{result="done"}`) + count(t, plane, `handshakes_total{result="refused"}`)
		return asked > 0 && asked <= shaken
	})
}

func count(t *testing.T, plane *planetest.Plane, series string) int {
	t.Helper()
	_, rest, _ := strings.Cut(plane.Metrics(), "\nsandlot_egress_"+series+" ")
	value, _, _ := strings.Cut(rest, "\n")
	number, err := strconv.Atoi(value)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// Rules over plain HTTP, where an operator allows them, need the proof as well.
func TestNoCredentialGoesOutOverPlainHTTPWithoutAProof(t *testing.T) {
	plane := startRuled(t, func(settings *serve.Settings) { settings.Front.ByAddress, settings.Front.Plaintext = false, true })
	plane.ServeHTTP(echoRequest)
	fields := ruled(nil)
	fields["proofs"] = [][]byte{[]byte("the proof of the sandbox")}
	plane.Allow(planetest.SandboxA, fields)
	response, seen := send(t, plane.Client(planetest.SandboxA, 1), newRequest(t, http.MethodGet, plane.PlainURL(api, "/")))
	if response.Header.Get("X-Sandlot-Egress") != "egress_not_proven" || len(seen.Headers) > 0 {
		t.Errorf("%s, and the upstream saw %v", response.Status, seen.Headers)
	}
}

func TestASandboxThatIsResumedElsewhereGoesOn(t *testing.T) {
	plane := startRuled(t)
	fields := ruled(map[string]any{"host": "*.test.example"})
	fields["uid"], fields["claimUid"] = "moves", "of the one that moves"
	// Two names, because a connection to the first one may wait for another request.
	for source, name := range map[string]string{planetest.SandboxA: api, planetest.SandboxB: allowed} {
		plane.Allow(source, fields)
		if _, seen := send(t, plane.Client(source, 1), newRequest(t, http.MethodGet, plane.URL(name, "/"))); seen.Headers.Get("Authorization") != "Bearer "+key {
			t.Errorf("at %s the upstream saw %v", source, seen.Headers)
		}
		plane.Push(map[string]any{"type": "gone", "address": source})
	}
}

func TestEndsWithItsConnectionsAfterTheDrain(t *testing.T) {
	plane := startTalk(t)
	conn := upgrade(t, plane, planetest.SandboxA, allowed)
	plane.Stop()
	if !isEnded(conn) {
		t.Error("a connection outlives the process")
	}
	if log := plane.Log.String(); strings.Contains(log, key) {
		t.Error("the log has the value")
	}
}
