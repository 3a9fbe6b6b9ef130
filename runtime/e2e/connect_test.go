package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unary calls a unary RPC and returns the status and body.
func (d *daemon) unary(method, message string, h header) answer {
	d.t.Helper()
	all := header{"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
	for name, value := range h {
		all[name] = value
	}
	return d.request(http.MethodPost, "/"+method, all, strings.NewReader(message))
}

// must makes a unary call that has to succeed.
func (d *daemon) must(method, message string) string {
	d.t.Helper()
	got := d.unary(method, message, nil)
	if got.status != http.StatusOK {
		d.t.Fatalf("%s %s answered %d %s", method, message, got.status, got.body)
	}
	return got.body
}

func envelope(flag byte, payload string) []byte {
	framed := make([]byte, 5, 5+len(payload))
	framed[0] = flag
	binary.BigEndian.PutUint32(framed[1:], uint32(len(payload)))
	return append(framed, payload...)
}

// stream is an open server stream.
type stream struct {
	t      *testing.T
	body   io.ReadCloser
	status int
	header http.Header
	cancel context.CancelFunc
}

// open calls a streaming RPC with one message and returns when the response headers arrive.
func (d *daemon) open(method, message string, h header) *stream {
	d.t.Helper()
	return d.openBody(method, bytes.NewReader(envelope(0, message)), h)
}

func (d *daemon) openBody(method string, body io.Reader, h header) *stream {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/"+method, body)
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/connect+json")
	d.dress(request, h)
	response, err := plainTransport.RoundTrip(request)
	if err != nil {
		cancel()
		d.t.Fatal(err)
	}
	s := &stream{t: d.t, body: response.Body, status: response.StatusCode, header: response.Header, cancel: cancel}
	d.t.Cleanup(s.close)
	return s
}

// close disconnects.
func (s *stream) close() {
	s.cancel()
	_ = s.body.Close()
}

// next returns the next envelope; ok is false at the end of the response.
func (s *stream) next() (flag byte, payload string, ok bool) {
	s.t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(s.body, head[:]); err != nil {
		if err != io.EOF {
			s.t.Fatalf("reading an envelope: %v", err)
		}
		return 0, "", false
	}
	content := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(s.body, content); err != nil {
		s.t.Fatalf("reading an envelope: %v", err)
	}
	return head[0], string(content), true
}

// message returns the payload of the next message and fails the test if there is none.
func (s *stream) message() string {
	s.t.Helper()
	flag, payload, ok := s.next()
	if !ok || flag != 0 {
		s.t.Fatalf("no message but flag %d, %q", flag, payload)
	}
	return payload
}

// rest returns all remaining envelopes, one per line, in the form "02 {}".
func (s *stream) rest() string {
	s.t.Helper()
	var lines []string
	for {
		flag, payload, ok := s.next()
		if !ok {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, "0"+strconv.Itoa(int(flag))+" "+payload)
	}
}

// event is one message of a process stream.
type event struct {
	Event struct {
		Start     *struct{ Pid int }
		Data      *struct{ Stdout, Stderr, Pty []byte }
		End       *json.RawMessage
		Keepalive *struct{}
	}
}

// outcome is the output and the end of a process.
type outcome struct {
	pid                 int
	stdout, stderr, pty string
	end, trailer        string
}

// collect reads a process stream to its end.
func (s *stream) collect() (got outcome) {
	s.t.Helper()
	var stdout, stderr, pty strings.Builder
	defer func() { got.stdout, got.stderr, got.pty = stdout.String(), stderr.String(), pty.String() }()
	for {
		flag, payload, ok := s.next()
		if !ok {
			return got
		}
		if flag == 2 {
			got.trailer = payload
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(payload), &e); err != nil {
			s.t.Fatalf("%s: %v", payload, err)
		}
		switch {
		case e.Event.Start != nil:
			got.pid = e.Event.Start.Pid
		case e.Event.Data != nil:
			stdout.Write(e.Event.Data.Stdout)
			stderr.Write(e.Event.Data.Stderr)
			pty.Write(e.Event.Data.Pty)
		case e.Event.End != nil:
			got.end = string(*e.Event.End)
		}
	}
}

// until reads a process stream until its output contains the text, and returns the output so far.
func (s *stream) until(text string) string {
	s.t.Helper()
	var output strings.Builder
	for !strings.Contains(output.String(), text) {
		var e event
		if err := json.Unmarshal([]byte(s.message()), &e); err != nil {
			s.t.Fatal(err)
		}
		if e.Event.Data != nil {
			output.Write(e.Event.Data.Stdout)
			output.Write(e.Event.Data.Stderr)
			output.Write(e.Event.Data.Pty)
		}
	}
	return output.String()
}

// shell returns the message by which clients start a shell command.
func shell(script string, more ...string) string {
	encoded, err := json.Marshal(script)
	if err != nil {
		panic(err)
	}
	return `{"process":{"cmd":"/bin/bash","args":["-c",` + string(encoded) + `]}` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// run runs a shell command and returns its outcome.
func (d *daemon) run(script string) outcome {
	d.t.Helper()
	return d.open("process.Process/Start", shell(script), nil).collect()
}

// begin starts a process and returns its stream after the start event.
func (d *daemon) begin(message string, h header) (*stream, int) {
	d.t.Helper()
	s := d.open("process.Process/Start", message, h)
	first := s.message()
	found := regexp.MustCompile(`^\{"event":\{"start":\{"pid":(\d+)\}\}\}$`).FindStringSubmatch(first)
	if found == nil {
		d.t.Fatalf("the first message is %s", first)
	}
	pid, _ := strconv.Atoi(found[1])
	return s, pid
}

func byPid(pid int) string { return `"process":{"pid":` + strconv.Itoa(pid) + `}` }

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
