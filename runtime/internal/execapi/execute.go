package execapi

import (
	"encoding/json"
	"net/http"
	"time"

	"sandlot.dev/runtime/internal/agentsandbox"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
)

const (
	maxCommandBytes = 4 << 20
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
	ended, ok := agentsandbox.Await(r.Context(), agentsandbox.Command{Process: running, Subscription: subscription, Limit: limit.C})
	if !ok {
		// The client has disconnected, so the result is not needed.
		return
	}
	result := outcome{Stdout: ended.Stdout.Text(), Stderr: ended.Stderr.Text(), ExitCode: ended.ExitCode, TimedOut: ended.TimedOut}
	if ended.TimedOut {
		result.ExitCode = exitTimedOut
	}
	httpx.WriteJSON(w, http.StatusOK, result)
}

func (s *Service) limit(seconds *float64) time.Duration {
	if seconds == nil || *seconds <= 0 {
		return s.Timeout
	}
	return time.Duration(min(*seconds, longest.Seconds()) * float64(time.Second))
}

func (s *Service) begin(line string) (*process.Process, *process.Subscription, error) {
	at, err := s.Root.Place()
	if err != nil {
		return nil, nil, err
	}
	argv := []string{"/bin/sh", "-c", line}
	if s.Argv {
		if argv, err = words(line); err != nil {
			return nil, nil, err
		}
	}
	spec, err := s.Root.Session.Spec(at.User, session.Command{Cmd: argv[0], Args: argv[1:], Cwd: at.Base})
	if err != nil {
		return nil, nil, err
	}
	return s.Table.Start(spec, nil, nil)
}
