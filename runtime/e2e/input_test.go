package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const terminal80 = `"pty":{"size":{"cols":80,"rows":24}}`

func TestInputArrivesInOrderUntilItIsClosed(t *testing.T) {
	d := serve(t)
	s, pid := d.begin(shell("cat"), nil)
	for _, piece := range []string{"one ", "two ", "three"} {
		expect(t, "answer", d.must("process.Process/SendInput", "{"+byPid(pid)+`,"input":{"stdin":"`+b64(piece)+`"}}`), "{}")
	}
	expect(t, "close", d.must("process.Process/CloseStdin", "{"+byPid(pid)+"}"), "{}")
	got := s.collect()
	expect(t, "output", got.stdout, "one two three")
	expect(t, "end", got.end, `{"exited":true,"status":"exit status 0"}`)
}

func TestUnreadInputOfOneProcessDoesNotBlockOthers(t *testing.T) {
	d := serve(t)
	_, deaf := d.begin(shell("exec sleep 60"), nil)
	blocked := make(chan answer, 1)
	go func() {
		blocked <- d.unary("process.Process/SendInput", "{"+byPid(deaf)+`,"input":{"stdin":"`+b64(strings.Repeat("x", 1<<20))+`"}}`, nil)
	}()
	expect(t, "another process", d.run("echo fine").stdout, "fine\n")
	expect(t, "a list", strconv.FormatBool(strings.Contains(d.must("process.Process/List", "{}"), "sleep 60")), "true")
	d.must("process.Process/SendSignal", "{"+byPid(deaf)+`,"signal":"SIGNAL_SIGKILL"}`)
	if got := <-blocked; got.status != 404 || !strings.Contains(got.body, "the process has exited") {
		t.Errorf("the blocked input answered %d %s", got.status, got.body)
	}
}

func TestInputOfTheWrongKindIsRejected(t *testing.T) {
	d := serve(t)
	_, piped := d.begin(shell("cat"), nil)
	_, deaf := d.begin(shell("sleep 60", `"stdin":false`), nil)
	_, closed := d.begin(shell("cat; sleep 60"), nil)
	_, terminal := d.begin(`{"process":{"cmd":"/bin/cat"},`+terminal80+`}`, nil)
	d.must("process.Process/CloseStdin", "{"+byPid(closed)+"}")
	d.must("process.Process/CloseStdin", "{"+byPid(closed)+"}")
	for name, row := range map[string]struct {
		method, message string
		status          int
		code            string
	}{
		"terminal input to a pipe": {"SendInput", byPid(piped) + `,"input":{"pty":"aGk="}`, 500, "internal"},
		"pipe input to a terminal": {"SendInput", byPid(terminal) + `,"input":{"stdin":"aGk="}`, 500, "internal"},
		"input that was not asked": {"SendInput", byPid(deaf) + `,"input":{"stdin":"aGk="}`, 500, "internal"},
		"input that was closed":    {"SendInput", byPid(closed) + `,"input":{"stdin":"aGk="}`, 500, "internal"},
		"no input at all":          {"SendInput", byPid(piped), 400, "invalid_argument"},
		"closing a terminal":       {"CloseStdin", byPid(terminal), 500, "unknown"},
		"resizing a pipe":          {"Update", byPid(piped) + `,` + terminal80, 500, "internal"},
		"no process":               {"SendInput", `"input":{"stdin":"aGk="}`, 400, "invalid_argument"},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.unary("process.Process/"+row.method, "{"+row.message+"}", nil)
			if got.status != row.status || !strings.HasPrefix(got.body, `{"code":"`+row.code+`","message":`) {
				t.Errorf("answered %d %s", got.status, got.body)
			}
		})
	}
	expect(t, "an update without a size", d.must("process.Process/Update", "{"+byPid(piped)+"}"), "{}")
}

func TestWithoutStdinAProcessReadsEOF(t *testing.T) {
	d := serve(t)
	got := d.open("process.Process/Start", shell("cat; readlink /proc/self/fd/0", `"stdin":false`), nil).collect()
	expect(t, "output", got.stdout, "/dev/null\n")
}

func TestStreamInputWritesEachMessageAtOnce(t *testing.T) {
	d := serve(t)
	s, pid := d.begin(shell("cat"), nil)
	reader, writer := io.Pipe()
	answered := make(chan string, 1)
	go func() { answered <- d.openBody("process.Process/StreamInput", reader, nil).rest() }()
	send := func(message string) {
		if _, err := writer.Write(envelope(0, message)); err != nil {
			t.Error(err)
		}
	}
	send(`{"start":{` + byPid(pid) + `}}`)
	send(`{"data":{"input":{"stdin":"` + b64("first\n") + `"}}}`)
	s.until("first\n")
	send(`{"keepalive":{}}`)
	send(`{"data":{"input":{"stdin":"` + b64("second\n") + `"}}}`)
	s.until("second\n")
	_ = writer.Close()
	expect(t, "answer", <-answered, "00 {}\n02 {}")
}

func TestStreamInputMustBeginWithStart(t *testing.T) {
	d := serve(t)
	for name, row := range map[string]struct{ messages, code string }{
		"nothing":            {"", "invalid_argument"},
		"data first":         {`{"data":{"input":{"stdin":"aGk="}}}`, "invalid_argument"},
		"only a keepalive":   {`{"keepalive":{}}`, "invalid_argument"},
		"an unknown process": {`{"start":{"process":{"pid":999999}}}`, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			var body []byte
			if row.messages != "" {
				body = envelope(0, row.messages)
			}
			got := d.openBody("process.Process/StreamInput", bytes.NewReader(body), nil).rest()
			if !strings.HasPrefix(got, `02 {"error":{"code":"`+row.code+`"`) {
				t.Errorf("answered %s", got)
			}
		})
	}
}

func TestAProcessCanRunInATerminal(t *testing.T) {
	d := serve(t)
	s, pid := d.begin(`{"process":{"cmd":"/bin/bash","args":["--norc","--noprofile"],"envs":{"PS1":"","TERM":"xterm-256color"}},"pty":{"size":{"cols":91,"rows":33}}}`, nil)
	type_ := func(text string) {
		d.must("process.Process/SendInput", "{"+byPid(pid)+`,"input":{"pty":"`+b64(text)+`"}}`)
	}
	type_("stty size; tty; test -t 0 -a -t 1 -a -t 2 && echo 'is'' one'\n")
	got := s.until("is one\r\n")
	if !strings.Contains(got, "33 91\r\n") || !regexp.MustCompile(`/dev/pts/\d+\r\n`).MatchString(got) {
		t.Errorf("the terminal said %q", got)
	}
	d.must("process.Process/Update", "{"+byPid(pid)+`,"pty":{"size":{"cols":120,"rows":40}}}`)
	type_("stty size\n")
	s.until("40 120\r\n")
	// An interrupt discards input that is not read yet, so each step waits for the effect of the one before.
	type_("sh -c 'echo sle''eps; exec sleep 60'\n")
	s.until("sleeps\r\n")
	type_("\x03")
	s.until("^C")
	type_("echo interr''upted\n")
	s.until("interrupted\r\n")
	type_("exit 7\n")
	expect(t, "end", s.collect().end, `{"exitCode":7,"exited":true,"status":"exit status 7","error":"exit status 7"}`)
}

func TestEndOfTransmissionEndsATerminal(t *testing.T) {
	d := serve(t)
	s, pid := d.begin(`{"process":{"cmd":"/bin/cat"},`+terminal80+`}`, nil)
	d.must("process.Process/SendInput", "{"+byPid(pid)+`,"input":{"pty":"`+b64("\x04")+`"}}`)
	expect(t, "end", s.collect().end, `{"exited":true,"status":"exit status 0"}`)
}

func TestUnreadOutputBlocksTheProcessAndIsNotLost(t *testing.T) {
	d := serve(t)
	const size = 40 << 20
	s, pid := d.begin(`{"process":{"cmd":"/usr/bin/head","args":["-c","`+strconv.Itoa(size)+`","/dev/zero"]}}`, nil)
	var before string
	eventually(t, "the process is blocked", func() bool {
		now, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		held := err == nil && string(now) == before && strings.Contains(before, "wchar")
		before = string(now)
		return held
	})
	if peak := status(t, d.cmd.Process.Pid, "VmHWM"); peak > 36<<10 {
		t.Errorf("the daemon needed %d KiB", peak)
	}
	got := s.collect()
	expect(t, "output", strconv.Itoa(len(got.stdout)), strconv.Itoa(size))
	expect(t, "end", got.end, `{"exited":true,"status":"exit status 0"}`)
}

func TestAProcessWithoutSubscribersDoesNotBlock(t *testing.T) {
	d := serve(t)
	marker := t.TempDir() + "/done"
	s, _ := d.begin(shell("read x; head -c 50000000 /dev/zero; touch "+marker, `"tag":"alone"`), nil)
	s.close()
	d.must("process.Process/SendInput", `{"process":{"tag":"alone"},"input":{"stdin":"Cg=="}}`)
	eventually(t, "the process ended", func() bool {
		_, err := os.Stat(marker)
		return err == nil
	})
}

// status returns a field of /proc/PID/status, in KiB.
func status(t *testing.T, pid int, field string) int {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(field + `:\s+(\d+) kB`).FindStringSubmatch(string(content))
	if found == nil {
		t.Fatalf("no %s in the status of %d", field, pid)
	}
	value, _ := strconv.Atoi(found[1])
	return value
}
