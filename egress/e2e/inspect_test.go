package e2e

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"sandlot.dev/egress/internal/planetest"
)

const (
	api = "api.test.example"
	key = "sk-live-0123456789"
)

// saw is what an upstream was asked for.
type saw struct {
	Host    string
	Target  string
	Method  string
	Proto   string
	Headers http.Header
}

// echoRequest answers with what the upstream saw, and repeats the credential in a header as careless servers do.
var echoRequest = http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	writer.Header().Set("X-Echo", request.Header.Get("Authorization"))
	writer.Header().Set("Alt-Svc", `h3=":443"`)
	_ = json.NewEncoder(writer).Encode(saw{request.Host, request.RequestURI, request.Method, request.Proto, request.Header})
})

// ruled is a closed sandbox with a rule that sets a bearer token for the API.
func ruled(extra map[string]any) map[string]any {
	rule := map[string]any{
		"host": api, "headers": []any{map[string]any{"name": "Authorization", "value": "Bearer {}", "ref": "key"}},
	}
	for name, value := range extra {
		rule[name] = value
	}
	return map[string]any{"names": []string{api, allowed}, "rules": []any{rule}}
}

func startRuled(t *testing.T, options ...planetest.Option) *planetest.Plane {
	t.Helper()
	plane := planetest.Start(t, []string{api, allowed}, options...)
	plane.ServeTLS(echoRequest, api, allowed)
	plane.Allow(planetest.SandboxA, ruled(nil))
	plane.SetValue("key", key)
	return plane
}

// send makes a request and returns the answer and what the upstream saw of it.
func send(t *testing.T, client *http.Client, request *http.Request) (*http.Response, saw) {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var seen saw
	if response.Header.Get("X-Sandlot-Egress") == "" {
		if err := json.Unmarshal(body, &seen); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	return response, seen
}

func newRequest(t *testing.T, method, url string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func TestSetsTheHeaderThatTheSandboxNeverSees(t *testing.T) {
	plane := startRuled(t)
	for _, protocol := range []int{1, 2} {
		request := newRequest(t, http.MethodGet, plane.URL(api, "/v1/models?a=%2F;b"))
		request.Header.Set("Authorization", "Bearer dummy")
		response, seen := send(t, plane.Client(planetest.SandboxA, protocol), request)
		if got := seen.Headers["Authorization"]; !slices.Equal(got, []string{"Bearer " + key}) {
			t.Errorf("HTTP/%d: the upstream saw %v", protocol, got)
		}
		if seen.Target != "/v1/models?a=%2F;b" || seen.Proto != "HTTP/2.0" || !strings.HasPrefix(seen.Host, api) {
			t.Errorf("HTTP/%d: the upstream saw %+v", protocol, seen)
		}
		if echo := response.Header.Get("X-Echo"); echo != "***" || response.Header.Get("Alt-Svc") != "" {
			t.Errorf("HTTP/%d: the sandbox sees %q", protocol, response.Header)
		}
		if names := response.TLS.PeerCertificates[0].DNSNames; !slices.Equal(names, []string{api}) {
			t.Errorf("the certificate is for %v", names)
		}
	}
	if log := plane.Log.String(); strings.Contains(log, key) || strings.Contains(log, "models") || !strings.Contains(log, `"headersSet":["Authorization"]`) {
		t.Errorf("the log is %s", log)
	}
}

func TestAHostWithoutARuleIsPassedUnopened(t *testing.T) {
	plane := startRuled(t)
	_, seen := send(t, plane.Client(planetest.SandboxA, 1), newRequest(t, http.MethodGet, plane.URL(allowed, "/")))
	if got := seen.Headers.Get("Authorization"); got != "" {
		t.Errorf("another host got %q", got)
	}
}

// Fronting: the name in TLS is allowed, and the request is for another host of the same server.
func TestARequestForAnotherHostIsMisdirected(t *testing.T) {
	plane := startRuled(t)
	for _, protocol := range []int{1, 2} {
		for _, host := range []string{allowed, "evil.test.example", api + ".evil.test.example", "127.0.2.1", api + ":1"} {
			request := newRequest(t, http.MethodGet, plane.URL(api, "/"))
			request.Host = host
			response, _ := send(t, plane.Client(planetest.SandboxA, protocol), request)
			if response.StatusCode != http.StatusMisdirectedRequest && response.StatusCode != http.StatusBadRequest {
				t.Errorf("HTTP/%d for %s: %d", protocol, host, response.StatusCode)
			}
		}
	}
}

func TestRefusesMethodsAndPathsThatTheRuleDoesNotHave(t *testing.T) {
	plane := startRuled(t)
	plane.Allow(planetest.SandboxA, ruled(map[string]any{"methods": []string{"GET", "TRACE"}, "paths": []string{"/v1/*", "/status"}}))
	client := plane.Client(planetest.SandboxA, 1)
	for _, test := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/v1/models", 200, ""},
		{"GET", "/v1/a%2Fb", 200, ""},
		{"GET", "/status", 200, ""},
		{"POST", "/v1/models", 403, "egress_method_denied"},
		{"TRACE", "/v1/models", 403, "egress_method_denied"},
		{"TRACK", "/v1/models", 403, "egress_method_denied"},
		{"GET", "/v2/models", 403, "egress_path_denied"},
		{"GET", "/status/more", 403, "egress_path_denied"},
		{"GET", "/v1/../v2/keys", 400, "egress_path_ambiguous"},
		{"GET", "/v1/%2e%2e/v2", 400, "egress_path_ambiguous"},
		{"GET", "/v1/..%2fv2", 400, "egress_path_ambiguous"},
		{"GET", "/v1//keys", 400, "egress_path_ambiguous"},
		{"GET", "/v1/%5c..%5cv2", 400, "egress_path_ambiguous"},
		{"GET", "/v1/%00", 400, "egress_path_ambiguous"},
		{"GET", "/v1/a;/../b", 400, "egress_path_ambiguous"},
	} {
		request := newRequest(t, test.method, plane.URL(api, ""))
		request.URL.Opaque = test.path
		response, _ := send(t, client, request)
		if code := response.Header.Get("X-Sandlot-Egress"); response.StatusCode != test.status || code != test.code {
			t.Errorf("%s %s: %d %s", test.method, test.path, response.StatusCode, code)
		}
	}
}

func TestACredentialThatIsNotThereStopsTheRequest(t *testing.T) {
	plane := startRuled(t)
	client := plane.Client(planetest.SandboxA, 1)
	if response, _ := send(t, client, newRequest(t, http.MethodGet, plane.URL(api, "/"))); response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	plane.SetValue("key", "sk-next-0123456789")
	if _, seen := send(t, client, newRequest(t, http.MethodGet, plane.URL(api, "/"))); seen.Headers.Get("Authorization") != "Bearer sk-next-0123456789" {
		t.Errorf("after its rotation the upstream saw %v", seen.Headers)
	}
	// This closes the connection too, so that an upgraded one ends.
	plane.Push(map[string]any{"type": "value", "ref": "key"})
	client = plane.Client(planetest.SandboxA, 1)
	if response, _ := send(t, client, newRequest(t, http.MethodGet, plane.URL(api, "/"))); response.Header.Get("X-Sandlot-Egress") != "egress_credential_missing" {
		t.Errorf("after its revocation: %s", response.Status)
	}
	plane.SetValue("key", "two\r\nlines")
	if response, _ := send(t, client, newRequest(t, http.MethodGet, plane.URL(api, "/"))); response.Header.Get("X-Sandlot-Egress") != "egress_credential_missing" {
		t.Errorf("a value that no header may have: %s", response.Status)
	}
}

func TestTwoTenantsNeverGetEachOthersValue(t *testing.T) {
	plane := startRuled(t)
	other := ruled(map[string]any{"headers": []any{map[string]any{"name": "Authorization", "value": "Bearer {}", "ref": "other"}}})
	plane.Allow(planetest.SandboxB, other)
	plane.SetValue("other", "sk-other-0123456789")
	want := map[string]string{planetest.SandboxA: "Bearer " + key, planetest.SandboxB: "Bearer sk-other-0123456789"}
	var running sync.WaitGroup
	for source, value := range want {
		for _, protocol := range []int{1, 2} {
			client := plane.Client(source, protocol)
			running.Go(func() {
				for range 500 {
					request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, plane.URL(api, "/"), nil)
					response, err := client.Do(request)
					if err != nil {
						t.Error(err)
						return
					}
					var seen saw
					err = json.NewDecoder(response.Body).Decode(&seen)
					_ = response.Body.Close()
					if err != nil || seen.Headers.Get("Authorization") != value {
						t.Errorf("%s: the upstream saw %v (%v)", source, seen.Headers, err)
						return
					}
				}
			})
		}
	}
	running.Wait()
}

func TestAClientThatPinsACertificateIsNotPassedInstead(t *testing.T) {
	plane := startRuled(t)
	config := &tls.Config{RootCAs: plane.UpstreamCA.Pool(), ServerName: api}
	if err := tls.Client(plane.Dial(planetest.SandboxA, plane.TLS), config).Handshake(); err == nil {
		t.Error("the handshake succeeded")
	}
	plane.Eventually("the refusal was reported", func() bool { return plane.Refused()["handshake_refused https "+api] == 1 })
}

func TestAnUpstreamWithoutACertificateForTheNameIsNotReached(t *testing.T) {
	plane := planetest.Start(t, []string{api})
	plane.ServeTLS(echoRequest, allowed)
	plane.Allow(planetest.SandboxA, ruled(nil))
	plane.SetValue("key", key)
	response, _ := send(t, plane.Client(planetest.SandboxA, 1), newRequest(t, http.MethodGet, plane.URL(api, "/")))
	if response.StatusCode != http.StatusBadGateway || response.Header.Get("X-Sandlot-Egress") != "egress_upstream" {
		t.Errorf("%s %v", response.Status, response.Header)
	}
}

func TestABodyStreamsInBothDirections(t *testing.T) {
	plane := planetest.Start(t, []string{api})
	plane.ServeTLS(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		control := http.NewResponseController(writer)
		_ = control.EnableFullDuplex()
		writer.WriteHeader(http.StatusOK)
		_ = control.Flush()
		buffer := make([]byte, 64)
		for {
			count, err := request.Body.Read(buffer)
			_, _ = fmt.Fprintf(writer, "%s!", buffer[:count])
			_ = control.Flush()
			if err != nil {
				return
			}
		}
	}), api)
	plane.Allow(planetest.SandboxA, ruled(nil))
	plane.SetValue("key", key)
	reader, writer := io.Pipe()
	request := newRequest(t, http.MethodPost, plane.URL(api, "/"))
	request.Body = reader
	response, err := plane.Client(planetest.SandboxA, 2).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	buffer := make([]byte, 64)
	for _, text := range []string{"one", "two", "three"} {
		_, _ = io.WriteString(writer, text)
		if count, err := io.ReadFull(response.Body, buffer[:len(text)+1]); err != nil || string(buffer[:count]) != text+"!" {
			t.Fatalf("after %q came %q (%v)", text, buffer[:count], err)
		}
	}
	_ = writer.Close()
}
