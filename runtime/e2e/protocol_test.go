package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestTheDeadlineOfStartKillsTheProcess(t *testing.T) {
	d := serve(t)
	starter, pid := d.begin(shell("sleep 300 & echo $!; wait", `"tag":"bounded"`), header{"Connect-Timeout-Ms": "400"})
	child := strings.TrimSpace(starter.until("\n"))
	other := d.open("process.Process/Connect", "{"+byPid(pid)+"}", nil)
	got := starter.rest()
	if !strings.HasPrefix(got, `02 {"error":{"code":"deadline_exceeded"`) {
		t.Errorf("the stream of Start: %s", got)
	}
	expect(t, "the other client gets the end", other.collect().end, `{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}`)
	eventually(t, "the process group is gone", func() bool { return gone(child) })
}

func TestTheDeadlineOfStartAppliesAfterTheClientDisconnects(t *testing.T) {
	d := serve(t)
	starter, pid := d.begin(shell("sleep 300"), header{"Connect-Timeout-Ms": "400"})
	other := d.open("process.Process/Connect", "{"+byPid(pid)+"}", nil)
	starter.close()
	expect(t, "end", other.collect().end, `{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}`)
}

func TestTheDeadlineOfConnectEndsOnlyTheStream(t *testing.T) {
	d := serve(t)
	_, pid := d.begin(shell("sleep 300"), nil)
	s := d.open("process.Process/Connect", "{"+byPid(pid)+"}", header{"Connect-Timeout-Ms": "100"})
	s.message()
	if got := s.rest(); !strings.HasPrefix(got, `02 {"error":{"code":"deadline_exceeded"`) {
		t.Errorf("the stream ended with %s", got)
	}
	expect(t, "the process runs", strconv.FormatBool(strings.Contains(d.must("process.Process/List", "{}"), strconv.Itoa(pid))), "true")
}

func TestConnectTimeoutsMustBeDigits(t *testing.T) {
	d := serve(t)
	for text, want := range map[string]string{
		"0": "200", "0000": "200", "60000": "200", "9999999999": "200",
		"10000000000": "400", "-1": "400", "+1": "400", "1.5": "400", "soon": "400", " ": "200",
	} {
		got := d.unary("process.Process/List", "{}", header{"Connect-Timeout-Ms": text})
		expect(t, "timeout "+text, strconv.Itoa(got.status), want)
	}
	got := d.open("process.Process/Start", shell("true"), header{"Connect-Timeout-Ms": "junk"}).rest()
	if !strings.HasPrefix(got, `02 {"error":{"code":"invalid_argument"`) {
		t.Errorf("a stream with a bad timeout: %s", got)
	}
	expect(t, "no timeout at 0", d.open("process.Process/Start", shell("true"), header{"Connect-Timeout-Ms": "0"}).collect().end,
		`{"exited":true,"status":"exit status 0"}`)
}

func TestSilentStreamsSendKeepalives(t *testing.T) {
	d := serve(t)
	every := header{"Keepalive-Ping-Interval": "1"}
	for name, row := range map[string]struct{ method, message, want string }{
		"of a process": {"process.Process/Start", shell("sleep 60"), `{"event":{"keepalive":{}}}`},
		"of a watch":   {"filesystem.Filesystem/WatchDir", `{"path":"` + t.TempDir() + `"}`, `{"keepalive":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := d.open(row.method, row.message, every)
			s.message()
			expect(t, "second message", s.message(), row.want)
			expect(t, "third message", s.message(), row.want)
		})
	}
}

func TestMessagesAcceptAllFormsOfProto3JSON(t *testing.T) {
	d := serve(t)
	got := d.open("process.Process/Start", `{"process":{"cmd":"/bin/cat","args":[],"extra":{"a":1}},"stdin":true,"not_known":7,"tag":"lenient"}`, nil)
	got.message()
	for _, message := range []string{
		`{"process":{"tag":"lenient"},"input":{"stdin":"-_8"}}`,      // URL-safe and unpadded
		`{"process":{"tag":"lenient"},"input":{"stdin":"+/8="}}`,     // standard base64
		`{"process":{"tag":"lenient"},"input":{"stdin":null},"a":0}`, // null counts as absent
	} {
		d.unary("process.Process/SendInput", message, nil)
	}
	d.must("process.Process/CloseStdin", `{"process":{"tag":"lenient"}}`)
	expect(t, "input", fmt.Sprintf("%x", got.collect().stdout), "fbfffbff")
	dir := t.TempDir()
	snake := d.must("filesystem.Filesystem/CreateWatcher", `{"path":"`+dir+`","include_entry":true,"allow_network_mounts":true}`)
	if !strings.HasPrefix(snake, `{"watcherId":"`) {
		t.Errorf("snake case was answered with %s", snake)
	}
}

func TestMalformedRequestsAreRejected(t *testing.T) {
	d := serve(t)
	start := string(envelope(0, shell("true")))
	const json, stream = "application/json", "application/connect+json"
	for name, row := range map[string]struct {
		method, path, kind, body string
		status                   int
		want                     string
	}{
		"a GET":                                 {"GET", "process.Process/List", json, "", 405, ""},
		"another content type":                  {"POST", "process.Process/List", "text/plain", "{}", 415, ""},
		"binary messages":                       {"POST", "process.Process/List", "application/proto", "", 415, ""},
		"a gRPC call":                           {"POST", "process.Process/Start", "application/grpc", start, 415, ""},
		"a unary call of a stream":              {"POST", "process.Process/Start", json, "{}", 415, ""},
		"no content type":                       {"POST", "process.Process/List", "", "{}", 415, ""},
		"a charset":                             {"POST", "process.Process/List", "application/json; charset=utf-8", "{}", 200, "{}"},
		"an unknown method":                     {"POST", "process.Process/Nope", json, "{}", 404, ""},
		"no JSON":                               {"POST", "process.Process/List", json, "nope", 400, `{"code":"invalid_argument"`},
		"no body":                               {"POST", "process.Process/List", json, "", 400, `{"code":"invalid_argument"`},
		"JSON nested too deeply":                {"POST", "process.Process/List", json, strings.Repeat(`{"a":`, 20000), 400, `{"code":"invalid_argument"`},
		"a negative pid":                        {"POST", "process.Process/SendSignal", json, `{"process":{"pid":-1}}`, 400, `{"code":"invalid_argument"`},
		"a stream without envelope":             {"POST", "process.Process/Start", stream, "", 200, "\x02"},
		"a truncated envelope header":           {"POST", "process.Process/Start", stream, "\x00\x00", 200, "\x02"},
		"a truncated message":                   {"POST", "process.Process/Start", stream, start[:len(start)-3], 200, "\x02"},
		"a length above the limit":              {"POST", "process.Process/Start", stream, "\x00\xff\xff\xff\xff{}", 200, "\x02"},
		"a compressed message":                  {"POST", "process.Process/Start", stream, "\x01" + start[1:], 200, "\x02"},
		"an unknown flag":                       {"POST", "process.Process/Start", stream, "\x80" + start[1:], 200, "\x02"},
		"an end of stream instead of a message": {"POST", "process.Process/Start", stream, "\x02" + start[1:], 200, "\x02"},
		"two messages instead of one":           {"POST", "process.Process/Start", stream, start + start, 200, "\x02"},
	} {
		t.Run(name, func(t *testing.T) {
			h := header{"Content-Type": row.kind}
			if row.kind == "" {
				h = nil
			}
			got := d.request(row.method, "/"+row.path, h, strings.NewReader(row.body))
			if got.status != row.status || !strings.HasPrefix(got.body, row.want) {
				t.Errorf("answered %d %q", got.status, got.body)
			}
			if row.want == "\x02" && !strings.Contains(got.body, `{"error":{"code":"`) {
				t.Errorf("no error in %q", got.body)
			}
		})
	}
	expect(t, "nothing was started", d.must("process.Process/List", "{}"), "{}")
}

func TestAMessageAboveTheLimitIsRejectedWithoutBufferingIt(t *testing.T) {
	d := serve(t)
	body := bytes.NewReader(make([]byte, 40<<20))
	got := d.request("POST", "/process.Process/SendInput", header{"Content-Type": "application/json"}, body)
	if got.status != 429 || !strings.Contains(got.body, `"resource_exhausted"`) {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

func TestCORSAllowsAnyOrigin(t *testing.T) {
	d := serve(t)
	d.token = "secret"
	d.request("POST", "/init", nil, strings.NewReader(`{"accessToken":"secret"}`))
	d.token = ""
	asked := header{"Origin": "https://somewhere.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-access-token,authorization"}
	got := d.request("OPTIONS", "/process.Process/Start", asked, nil)
	expect(t, "status of the preflight, which has no token", strconv.Itoa(got.status), "204")
	expect(t, "origin", got.header.Get("Access-Control-Allow-Origin"), "*")
	expect(t, "headers", got.header.Get("Access-Control-Allow-Headers"), "x-access-token,authorization")
	refused := d.request("GET", "/envs", header{"Origin": "https://somewhere.example"}, nil)
	expect(t, "origin in an error answer", refused.header.Get("Access-Control-Allow-Origin")+strconv.Itoa(refused.status), "*401")
}

func TestConnectionsWithIncompleteRequestsDoNotBlockOthers(t *testing.T) {
	d := serve(t)
	for range 200 {
		slow, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		_, _ = slow.Write([]byte("POST /process.Process/Start HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\nContent-Length: 9999\r\n\r\n\x00\x00"))
	}
	expect(t, "another client", d.run("echo hi").stdout, "hi\n")
	descriptors := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if descriptors() < 200 {
		t.Errorf("only %d descriptors: the connections were not held", descriptors())
	}
}

func TestAnOversizedRequestLineIsRejected(t *testing.T) {
	d := serve(t)
	request, _ := http.NewRequest("GET", d.url+"/health", nil)
	request.Header.Set("X-Long", strings.Repeat("x", 1<<20))
	response, err := plainTransport.RoundTrip(request)
	if err == nil {
		defer response.Body.Close()
		expect(t, "status", strconv.Itoa(response.StatusCode), "431")
	}
	expect(t, "health", strconv.FormatBool(healthy(d.url)), "true")
}
