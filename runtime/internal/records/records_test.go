package records

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sandlot.dev/runtime/internal/process"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newLog() (*Log, *clock) {
	c := &clock{at: time.UnixMilli(1_000)}
	return NewLog(c.now), c
}

func show(records []Record) string {
	said := []string{}
	for _, each := range records {
		said = append(said, fmt.Sprintf("%d %s %s %d %q", each.Ms, each.Level, each.Event, each.Pid, each.Message))
	}
	return strings.Join(said, "\n")
}

func TestRecordsWhatAProcessDoesAndPrints(t *testing.T) {
	l, c := newLog()
	w := l.Start(7, process.Spec{Cmd: "/bin/bash", Args: []string{"-c", "echo 'a b'", ""}, Env: []string{"SECRET=hidden"}})
	w.Printed(process.Stdout, []byte("one\ntw"))
	c.at = c.at.Add(5 * time.Millisecond)
	w.Printed(process.Stderr, []byte("bad \xff\n"))
	w.Printed(process.Stdout, []byte("o"))
	w.Printed(process.Terminal, []byte("a screen\n"))
	w.Ended(&process.End{ExitCode: 3, Exited: true, Status: "exit status 3"})
	want := `1000 info start 7 "started: /bin/bash -c \"echo 'a b'\" \"\""
1000 info stdout 7 "one"
1005 error stderr 7 "bad �"
1005 info stdout 7 "two"
1005 warn end 7 "ended: exit status 3"`
	if got, now := l.Since(0); show(got) != want || now != 1005 {
		t.Errorf("at %d got\n%s", now, show(got))
	}
	if got, _ := l.Since(1005); len(got) != 3 {
		t.Errorf("since then got\n%s", show(got))
	}
	if got, _ := l.Since(1006); len(got) != 0 {
		t.Errorf("later got\n%s", show(got))
	}
}

func TestNoRecordIsOlderThanTheTimeOfAnAnswerBeforeIt(t *testing.T) {
	l, c := newLog()
	_, before := l.Since(0)
	c.at = c.at.Add(-time.Hour)
	l.Start(1, process.Spec{Cmd: "late"})
	got, now := l.Since(before)
	if len(got) != 1 || got[0].Ms != before || now != before {
		t.Errorf("after %d got %s at %d", before, show(got), now)
	}
}

func TestAProcessThatPrintsWithoutEndIsRecordedWithinBounds(t *testing.T) {
	l, c := newLog()
	w := l.Start(1, process.Spec{Cmd: "yes", Args: []string{strings.Repeat("long ", 1_000)}})
	for range 10 {
		for range 1_000 {
			w.Printed(process.Stdout, []byte("y\n"))
		}
		c.at = c.at.Add(time.Second)
	}
	w.Ended(&process.End{Exited: true, Status: "exit status 0"})
	got, _ := l.Since(0)
	count := 0
	for _, each := range got {
		if each.Event == EventStdout {
			count++
		}
	}
	if most := linesAtOnce + 9*linesPerSecond; count != most {
		t.Errorf("recorded %d lines, want %d", count, most)
	}
	if first := got[0]; len(first.Message) > maxCommand+100 || !strings.HasSuffix(first.Message, "… [cut]") {
		t.Errorf("the start is %q", first.Message)
	}
	if last := show(got[len(got)-2:]); !strings.Contains(last, "800 lines of output are left out here") || !strings.Contains(last, "ended: exit status 0") {
		t.Errorf("the last are\n%s", last)
	}
}

func TestTheOldestRecordsMakeRoomAndNoHistoryTakesMore(t *testing.T) {
	l, c := newLog()
	w := l.Start(1, process.Spec{Cmd: "noisy"})
	random := rand.New(rand.NewPCG(1, 2))
	for index := range 4_000 {
		c.at = c.at.Add(time.Second)
		w.Printed(process.Stdout, append([]byte(strings.Repeat("\xff", random.IntN(3*maxLine))), fmt.Sprintf("%d\n", index)...))
		total := 0
		for _, each := range l.records {
			total += each.size()
			if !utf8.ValidString(each.Message) || len(each.Message) > 3*maxLine+100 {
				t.Fatalf("a message of %d bytes", len(each.Message))
			}
		}
		if total != l.bytes || total > maxBytes {
			t.Fatalf("after %d lines %d bytes, counted %d", index, total, l.bytes)
		}
	}
	if got, _ := l.Since(0); len(got) == 0 || got[0].Event == EventStart {
		t.Errorf("the oldest are still there: %d", len(got))
	}
}

func TestServesTheRecordsSinceATime(t *testing.T) {
	l, c := newLog()
	l.Start(1, process.Spec{Cmd: "first"})
	c.at = c.at.Add(time.Second)
	l.Start(2, process.Spec{Cmd: "second"})
	ask := func(query string) (int, string) {
		answered := httptest.NewRecorder()
		l.Handler().ServeHTTP(answered, httptest.NewRequest(http.MethodGet, Path+query, nil))
		return answered.Code, answered.Body.String()
	}
	status, body := ask("?from=1001")
	if want := `{"now":2000,"records":[{"ms":2000,"level":"info","event":"start","message":"started: second","pid":2}]}`; status != 200 || body != want {
		t.Errorf("got %d %s", status, body)
	}
	var all answer
	if _, body := ask(""); json.Unmarshal([]byte(body), &all) != nil || len(all.Records) != 2 {
		t.Errorf("got %s", body)
	}
	if status, body := ask("?from=yesterday"); status != 400 || !strings.Contains(body, "from: expected whole Unix milliseconds") {
		t.Errorf("got %d %s", status, body)
	}
}
