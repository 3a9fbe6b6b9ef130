package process

import (
	"strconv"
	"syscall"
)

// End describes how a process ended.
type End struct {
	// ExitCode is -1 if a signal ended the process.
	ExitCode int
	Exited   bool
	// Status is "exit status 3" or "signal: killed".
	Status string
}

// OK reports whether the process exited with code 0.
func (e *End) OK() bool { return e.Exited && e.ExitCode == 0 }

func endOf(status syscall.WaitStatus) *End {
	if status.Signaled() {
		text := "signal: " + status.Signal().String()
		if status.CoreDump() {
			text += " (core dumped)"
		}
		return &End{ExitCode: -1, Status: text}
	}
	return &End{ExitCode: status.ExitStatus(), Exited: true, Status: "exit status " + strconv.Itoa(status.ExitStatus())}
}
