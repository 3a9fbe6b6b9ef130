package agentsandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/process"
)

// maxOutputBytes bounds stdout and stderr each; both stay in memory until the command ends.
const maxOutputBytes = 16 << 20

// Command is a process whose output is returned when it has ended.
type Command struct {
	Process      *process.Process
	Subscription *process.Subscription
	// Limit fires when the command has run for too long; nil: it may run as long as its client waits.
	Limit <-chan time.Time
}

// Outcome is what a command said and how it ended.
type Outcome struct {
	Stdout, Stderr Output
	// ExitCode is -1 if a signal ended the process.
	ExitCode int
	// TimedOut means that Limit fired and the process group was killed.
	TimedOut bool
}

// Await collects the output of a command until it ends. If the context ends first, it kills the process group and returns
// false.
func Await(ctx context.Context, c Command) (Outcome, bool) {
	var outcome Outcome
	for {
		select {
		case <-ctx.Done():
			c.Process.Abandon()
			return Outcome{}, false
		case <-c.Limit:
			outcome.TimedOut = true
			c.Process.Abandon()
		case event := <-c.Subscription.Events():
			if event.End == nil {
				outcome.Stdout.add(event, process.Stdout)
				outcome.Stderr.add(event, process.Stderr)
				continue
			}
			outcome.ExitCode = event.End.ExitCode
			return outcome, true
		}
	}
}

// Output is the output of one stream, cut after maxOutputBytes.
type Output struct {
	content []byte
	dropped int
}

func (o *Output) add(event process.Event, stream process.Stream) {
	if event.Stream != stream {
		return
	}
	room := min(maxOutputBytes-len(o.content), len(event.Data))
	o.content = append(o.content, event.Data[:room]...)
	o.dropped += len(event.Data) - room
}

// Bytes returns the output, with a note if some of it is missing.
func (o *Output) Bytes() []byte { return append(o.content, o.note()...) }

// Text returns the same as UTF-8.
func (o *Output) Text() string { return strings.ToValidUTF8(string(o.content), "\uFFFD") + o.note() }

func (o *Output) note() string {
	if o.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d more bytes were dropped]\n", o.dropped)
}
