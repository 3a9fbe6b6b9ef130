package execapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
)

const (
	maxCommandBytes = 4 << 20
	// maxOutputBytes bounds stdout and stderr each; both stay in memory until the command ends.
	maxOutputBytes = 16 << 20
	// exitTimedOut is the exit code of the command `timeout`.
	exitTimedOut = 124
	longest      = 7 * 24 * time.Hour
)

type command struct {
	Command        string   `json:"command"`
	TimeoutSeconds *float64 `json:"timeout_seconds"`
}

type outcome struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	TimedOut bool   `json:"timed_out,omitempty"`
}

// execute always answers 200; the body reports what went wrong with the command.
func (s *Service) execute(w http.ResponseWriter, r *http.Request, _ string) {
	httpx.Patient(w, r)
	var asked command
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommandBytes)).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, "the body is not the JSON expected: "+err.Error())
		return
	}
	running, subscription, err := s.begin(asked.Command)
	if err != nil {
		httpx.WriteJSON(w, http.StatusOK, outcome{Stderr: err.Error(), ExitCode: 1})
		return
	}
	defer subscription.Close()
	limit := time.NewTimer(s.limit(asked.TimeoutSeconds))
	defer limit.Stop()
	var stdout, stderr cappedOutput
	timedOut := false
	for {
		select {
		case <-r.Context().Done():
			// The client has disconnected, so the result is not needed.
			running.Abandon()
			return
		case <-limit.C:
			timedOut = true
			running.Abandon()
		case event := <-subscription.Events():
			if event.End == nil {
				stdout.add(event, process.Stdout)
				stderr.add(event, process.Stderr)
				continue
			}
			result := outcome{Stdout: stdout.text(), Stderr: stderr.text(), ExitCode: event.End.ExitCode, TimedOut: timedOut}
			if timedOut {
				result.ExitCode = exitTimedOut
			}
			httpx.WriteJSON(w, http.StatusOK, result)
			return
		}
	}
}

func (s *Service) limit(seconds *float64) time.Duration {
	if seconds == nil || *seconds <= 0 {
		return s.Timeout
	}
	return time.Duration(min(*seconds, longest.Seconds()) * float64(time.Second))
}

func (s *Service) begin(line string) (*process.Process, *process.Subscription, error) {
	at, err := s.place()
	if err != nil {
		return nil, nil, err
	}
	argv := []string{"/bin/sh", "-c", line}
	if s.Argv {
		if argv, err = words(line); err != nil {
			return nil, nil, err
		}
	}
	spec, err := s.Session.Spec(at.user, session.Command{Cmd: argv[0], Args: argv[1:], Cwd: at.base})
	if err != nil {
		return nil, nil, err
	}
	return s.Table.Start(spec, nil, nil)
}

// cappedOutput is the output of one stream, cut after maxOutputBytes.
type cappedOutput struct {
	content []byte
	dropped int
}

func (c *cappedOutput) add(event process.Event, stream process.Stream) {
	if event.Stream != stream {
		return
	}
	room := min(maxOutputBytes-len(c.content), len(event.Data))
	c.content = append(c.content, event.Data[:room]...)
	c.dropped += len(event.Data) - room
}

func (c *cappedOutput) text() string {
	text := strings.ToValidUTF8(string(c.content), "\uFFFD")
	if c.dropped > 0 {
		text += fmt.Sprintf("\n[%d more bytes were dropped]\n", c.dropped)
	}
	return text
}
