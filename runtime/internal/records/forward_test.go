package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/process"
)

func TestForwardsRecordsInPlaceOfKeepingThem(t *testing.T) {
	l, _ := newLog()
	got := make(chan Record, 10)
	l.Forward(func(record Record) { got <- record })
	l.Start(7, process.Spec{Cmd: "/bin/true"}).Printed(process.Stdout, []byte("one\n"))
	for _, want := range []string{"started: /bin/true", "one"} {
		if record := <-got; record.Message != want || record.Ms != 1_000 {
			t.Errorf("got %+v, want %q", record, want)
		}
	}
	l.Forward(nil)
	l.Start(8, process.Spec{Cmd: "/bin/false"})
	if kept, _ := l.Since(0); show(kept) != `1000 info start 8 "started: /bin/false"` {
		t.Errorf("it keeps\n%s", show(kept))
	}
}

func TestALogThatTakesNothingHoldsNoProcessUpAndLearnsHowMuchIsLeftOut(t *testing.T) {
	l, c := newLog()
	hold, got := make(chan struct{}), make(chan Record, 2*maxQueued)
	l.Forward(func(record Record) {
		<-hold
		got <- record
	})
	w := l.Start(7, process.Spec{Cmd: "/bin/yes"})
	for range 3 * maxQueued {
		w.Printed(process.Stdout, []byte("y\n"))
	}
	close(hold)
	taken := 0
	for len(got) < maxQueued {
		time.Sleep(time.Millisecond)
	}
	c.at = c.at.Add(time.Second)
	w.Printed(process.Stdout, []byte("z\n"))
	for record := range got {
		taken++
		if record.Event == EventOmitted {
			left := 3*maxQueued + 1 - (taken - 1)
			if !strings.HasPrefix(record.Message, fmt.Sprintf("%d lines", left)) {
				t.Errorf("after %d records: %s", taken-1, record.Message)
			}
			break
		}
	}
	if record := <-got; record.Message != "z" {
		t.Errorf("it goes on with %+v", record)
	}
}

func TestASandboxThatIsAnotherOneNowWritesNothingOfTheFirst(t *testing.T) {
	l, _ := newLog()
	hold, got := make(chan struct{}), make(chan Record, maxQueued)
	l.Forward(func(record Record) {
		got <- record
		<-hold
	})
	w := l.Start(7, process.Spec{Cmd: "/bin/yes"})
	<-got
	w.Printed(process.Stdout, []byte("of the first\n"))
	l.Clear()
	w.Printed(process.Stdout, []byte("of the second\n"))
	close(hold)
	if record := <-got; record.Message != "of the second" {
		t.Errorf("got %+v", record)
	}
}
