// Package startup runs the start command of a template once for each start of the container, and says when the ready command of the
// template agrees (docs/reference/runtime.md#start-and-ready-command).
package startup

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"os"
)

const (
	startVariable = "SANDLOT_START_COMMAND"
	readyVariable = "SANDLOT_READY_COMMAND"
	// environmentVariable has what the build set for its steps, as a JSON object: the two commands see it, and no other process does.
	environmentVariable = "SANDLOT_START_ENV"
	// readyByTime stands for a ready command where a template has only a start command, as clients of E2B do.
	readyByTime = "sleep 20"
)

// Commands are those of a template; empty: it has none.
type Commands struct {
	Start, Ready string
	// Env is added to the environment of both.
	Env map[string]string
}

// TakeCommands returns the commands in the environment of this process, and removes them from it: no process that it starts gets them.
func TakeCommands() Commands {
	commands := Commands{Start: os.Getenv(startVariable), Ready: os.Getenv(readyVariable)}
	if text := os.Getenv(environmentVariable); text != "" && json.Unmarshal([]byte(text), &commands.Env) != nil {
		slog.Error("the variable is no JSON object of texts, so the start command does not see it", "variable", environmentVariable)
		commands.Env = nil
	}
	for _, name := range []string{startVariable, readyVariable, environmentVariable} {
		_ = os.Unsetenv(name)
	}
	if commands.Start != "" {
		commands.Ready = cmp.Or(commands.Ready, readyByTime)
	}
	return commands
}

// AreNone reports whether the template has neither.
func (c Commands) AreNone() bool { return c.Start == "" && c.Ready == "" }
