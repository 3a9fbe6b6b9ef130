package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sandlot.dev/egress/internal/planetest"
)

// raw writes bytes over an inspected HTTP/1.1 connection and returns the answers to it.
func raw(t *testing.T, plane *planetest.Plane, text string) []*http.Response {
	t.Helper()
	config := plane.ClientTLS()
	config.ServerName, config.NextProtos = api, []string{"http/1.1"}
	conn := tls.Client(plane.Dial(planetest.SandboxA, plane.TLS), config)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	var answers []*http.Response
	reader := bufio.NewReader(conn)
	for {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return answers
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(strings.NewReader(string(body)))
		answers = append(answers, answer)
		// Another answer would come at once.
		_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	}
}

// Two servers that disagree where a request ends let the second one come from another client.
func TestRefusesRequestsThatServersReadInDifferentWays(t *testing.T) {
	plane := startRuled(t)
	plane.Allow(planetest.SandboxA, ruled(map[string]any{"paths": []string{"/"}}))
	host := "Host: " + api + "\n"
	for name, text := range map[string]string{
		"two lengths":                  "POST / HTTP/1.1\n" + host + "Content-Length: 3\nContent-Length: 4\n\nabcd",
		"a length and chunks":          "POST / HTTP/1.1\n" + host + "Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\nGET /smuggled HTTP/1.1\n" + host + "\n",
		"an unknown encoding":          "POST / HTTP/1.1\n" + host + "Transfer-Encoding: xchunked\n\n0\n\n",
		"a space before the colon":     "GET / HTTP/1.1\n" + host + "X-A : b\n\n",
		"a folded line":                "GET / HTTP/1.1\nX-A: b\n c\n" + host + "\n",
		"two hosts":                    "GET / HTTP/1.1\n" + host + "Host: " + allowed + "\n\n",
		"no host":                      "GET / HTTP/1.1\n\n",
		"a NUL in a value":             "GET / HTTP/1.1\n" + host + "X-A: b\x00c\n\n",
		"an absolute target elsewhere": "GET https://" + allowed + "/ HTTP/1.1\n" + host + "\n",
	} {
		answers := raw(t, plane, text)
		for _, answer := range answers {
			body, _ := io.ReadAll(answer.Body)
			if strings.Contains(string(body), "/smuggled") {
				t.Errorf("%s: the upstream saw a request that was not decided over: %s", name, body)
			}
		}
		if name == "a folded line" || name == "a length and chunks" {
			// Go joins the lines, or drops the length, before anything is sent on: what goes out can be read in one way.
			continue
		}
		if len(answers) == 0 || answers[0].StatusCode < http.StatusBadRequest {
			t.Errorf("%s: %d answers, the first %+v", name, len(answers), answers)
		}
	}
}

// What goes to the upstream has our header once. The client cannot add to it or take it away.
func TestTheHeaderOfTheRuleIsTheOnlyOne(t *testing.T) {
	plane := startRuled(t)
	for name, lines := range map[string]string{
		"twice":                       "Authorization: one\nAuthorization: two\n",
		"in other case":               "authorization: one\nAUTHORIZATION: two\n",
		"with an underscore":          "Authorization_: x\nauthorization: one\n",
		"removed by Connection":       "Connection: Authorization\nAuthorization: one\n",
		"removed by Connection, list": "Connection: close, authorization\n",
		"promised as a trailer":       "Trailer: Authorization\nTransfer-Encoding: chunked\n",
	} {
		end := "\n"
		if strings.Contains(lines, "chunked") {
			end = "\n1\na\n0\nAuthorization: trailer\n\n"
		}
		answers := raw(t, plane, "POST / HTTP/1.1\nHost: "+api+"\n"+lines+end)
		if len(answers) != 1 || answers[0].StatusCode != http.StatusOK {
			t.Errorf("%s: %+v", name, answers)
			continue
		}
		var seen saw
		if err := json.NewDecoder(answers[0].Body).Decode(&seen); err != nil {
			t.Fatal(err)
		}
		if got := seen.Headers.Values("Authorization"); !slices.Equal(got, []string{"Bearer " + key}) {
			t.Errorf("%s: the upstream saw %v", name, got)
		}
		if seen.Headers.Get("Trailer") != "" || seen.Headers.Get("Connection") != "" {
			t.Errorf("%s: the upstream saw %v", name, seen.Headers)
		}
	}
}

func TestAnUnderscoreCountsAsAHyphen(t *testing.T) {
	plane := startRuled(t)
	plane.Allow(planetest.SandboxA, ruled(map[string]any{
		"headers": []any{map[string]any{"name": "X-Api-Key", "value": "{}", "ref": "key"}},
	}))
	answers := raw(t, plane, "GET / HTTP/1.1\nHost: "+api+"\nX_Api_Key: mine\nX-Api_Key: mine\n\n")
	var seen saw
	if len(answers) != 1 || json.NewDecoder(answers[0].Body).Decode(&seen) != nil {
		t.Fatalf("%+v", answers)
	}
	for name, values := range seen.Headers {
		if slices.Contains(values, "mine") {
			t.Errorf("the upstream saw %s", name)
		}
	}
	if seen.Headers.Get("X-Api-Key") != key {
		t.Errorf("the upstream saw %v", seen.Headers)
	}
}
