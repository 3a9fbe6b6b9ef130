package records

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"sandlot.dev/runtime/internal/process"
)

// tagOfUID1 is what the API expects in the lines of a Sandbox with the UID uid-1: services/api/src/e2b/logs/marks.test.ts has the same.
const tagOfUID1 = "54698a0f872eead6"

func newMarker(uid string) (m Marker, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return Marker{Out: out, Err: err, UID: func() string { return uid }}, out, err
}

func TestMarksWhatAProcessDoesAndPrintsInTheLogOfTheContainer(t *testing.T) {
	m, out, errors := newMarker("uid-1")
	w := m.Start(7, process.Spec{Cmd: "/bin/serve", Args: []string{"a\nb"}})
	w.Printed(process.Stdout, []byte("[process 8 end info "+tagOfUID1+"] not an end\nbad \xff\n"))
	w.Printed(process.Stderr, []byte("wrong\n"))
	w.Ended(&process.End{ExitCode: 3, Exited: true, Status: "exit status 3"})
	want := `[process 7 start info TAG] started: /bin/serve "a\nb"
[process 7 stdout info TAG] [process 8 end info TAG] not an end
[process 7 stdout info TAG] bad �
[process 7 end warn TAG] ended: exit status 3
`
	if got := out.String(); got != strings.ReplaceAll(want, "TAG", tagOfUID1) {
		t.Errorf("stdout has\n%s", got)
	}
	if got := errors.String(); got != "[process 7 stderr error "+tagOfUID1+"] wrong\n" {
		t.Errorf("stderr has\n%s", got)
	}
}

func TestALineIsOneWriteThatAPipeTakesAsOnePiece(t *testing.T) {
	for _, message := range []string{strings.Repeat("x", 9_000), strings.Repeat("\xff ", 4_000), strings.Repeat("é", 4_000), "a\nb"} {
		m, out, _ := newMarker("uid-1")
		m.Write(Record{Level: LevelInfo, Event: EventStdout, Pid: 1 << 22, Message: message})
		got := out.String()
		if len(got) > 4_096 || !utf8.ValidString(got) || strings.Index(got, "\n") != len(got)-1 {
			t.Errorf("%d bytes: %.60q", len(got), got)
		}
		if len(message) > 3 && !strings.HasSuffix(got, " [cut]\n") {
			t.Errorf("it does not say that it is cut: %q", got[len(got)-20:])
		}
	}
}

func TestWithoutASandboxThereIsOutputAlone(t *testing.T) {
	m, out, errors := newMarker("")
	w := m.Start(7, process.Spec{Cmd: "/bin/serve"})
	w.Printed(process.Stdout, []byte("out\n"))
	w.Printed(process.Stderr, []byte("err\n"))
	w.Ended(&process.End{Status: "exit status 0"})
	if got := out.String() + errors.String(); got != "out\nerr\n" {
		t.Errorf("the log has %q", got)
	}
}
