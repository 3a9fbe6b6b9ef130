package records

import (
	"strconv"
	"strings"

	"sandlot.dev/runtime/internal/lines"
	"sandlot.dev/runtime/internal/process"
)

const (
	// maxLine bounds a line of output, and maxCommand the command in the record of a start. A process has room for two lines at a time.
	maxLine    = 4 << 10
	maxCommand = 1 << 10
)

// taker takes what a witness sees. A record of a line has no message yet.
type taker interface {
	add(record Record)
	addLine(record Record, line []byte)
}

// Start records the start of a process, and returns what records the rest.
func (l *Log) Start(pid int, spec process.Spec) process.Witness { return newWitness(l, pid, spec) }

// newWitness keeps no variables: those may be secret. The output of a terminal is what a person saw on a screen, and no lines.
func newWitness(to taker, pid int, spec process.Spec) process.Witness {
	to.add(Record{Level: LevelInfo, Event: EventStart, Pid: pid, Message: "started: " + formatCommand(spec)})
	of := func(level, event string) *lines.Cutter {
		return &lines.Cutter{Max: maxLine, Emit: func(line []byte) {
			to.addLine(Record{Level: level, Event: event, Pid: pid}, line)
		}}
	}
	return &witness{to: to, pid: pid, stdout: of(LevelInfo, EventStdout), stderr: of(LevelError, EventStderr)}
}

type witness struct {
	to             taker
	pid            int
	stdout, stderr *lines.Cutter
}

func (w *witness) Printed(stream process.Stream, data []byte) {
	switch stream {
	case process.Stdout:
		w.stdout.Add(data)
	case process.Stderr:
		w.stderr.Add(data)
	case process.Terminal:
	}
}

func (w *witness) Ended(end *process.End) {
	w.stdout.End()
	w.stderr.End()
	level := LevelInfo
	if !end.OK() {
		level = LevelWarn
	}
	w.to.add(Record{Level: level, Event: EventEnd, Pid: w.pid, Message: "ended: " + end.Status})
}

// formatCommand returns the beginning of the command, with quotes where a word is not plain.
func formatCommand(spec process.Spec) string {
	var text strings.Builder
	for index, word := range append([]string{spec.Cmd}, spec.Args...) {
		if index > 0 {
			text.WriteByte(' ')
		}
		room := maxCommand - text.Len()
		if room <= 0 {
			return text.String() + "… [cut]"
		}
		isCut := len(word) > room
		if isCut {
			word = word[:room]
		}
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'\`, r) || r == 0x7f }) {
			word = strconv.Quote(word)
		}
		text.WriteString(word)
		if isCut {
			return text.String() + "… [cut]"
		}
	}
	return text.String()
}
