package startup

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/reaper"
	"sandlot.dev/runtime/internal/records"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/users"
)

// theReaper is the only one of this process, as in a supervisor.
var theReaper = sync.OnceValue(reaper.Run)

type log struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (l *log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(data)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

// newSession has a home without files, because login shells read those of this machine.
func newSession(t *testing.T, workdir string) *session.Session {
	self := users.New(users.Options{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: t.TempDir()})
	return session.New(self, state.Open(nil, state.Owner{}), session.Defaults{Workdir: workdir})
}

// begin runs commands in a folder of their own, with a short pause and limit, and returns where it answers.
func begin(t *testing.T, commands Commands, limit time.Duration) (address, folder string, said *log) {
	t.Helper()
	folder, said = t.TempDir(), &log{}
	table := process.NewTable(theReaper(), 0)
	t.Cleanup(table.KillAll)
	r := &Runner{
		Table: table, Session: newSession(t, folder), Commands: commands,
		Witness: records.Marker{Out: said, Err: said, UID: func() string { return "uid-1" }}.Start, every: time.Millisecond, limit: limit,
	}
	address = Address(folder)
	if err := r.Begin(address); err != nil {
		t.Fatal(err)
	}
	return address, folder, said
}

const patience = 30 * time.Second

// awaitText waits until the sandbox says that it is not ready, with these words.
func awaitText(t *testing.T, address, words string) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if last = Await(address, 0); last != nil && strings.Contains(last.Error(), words) {
			return
		}
	}
	t.Fatalf("it says %v, want %q", last, words)
}

func TestIsReadyOnceTheReadyCommandSucceeds(t *testing.T) {
	address, folder, said := begin(t, Commands{
		Start: "test \"$OF_BUILD\" = 1; echo out; echo err >&2; touch started", Ready: "test -e started && test -e up && test \"$OF_BUILD\" = 1",
		Env: map[string]string{"OF_BUILD": "1"},
	}, patience)
	awaitText(t, address, "the ready command has not succeeded yet: it ended last with exit status 1")
	if err := os.WriteFile(filepath.Join(folder, "up"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Await(address, patience); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`^\[process \d+ start info [0-9a-f]{16}\] started: /bin/bash -l -c "test `, `(?m)^\[process \d+ stdout info [0-9a-f]{16}\] out$`,
		`(?m)^\[process \d+ stderr error [0-9a-f]{16}\] err$`, `(?m)^\[process \d+ end info [0-9a-f]{16}\] ended: exit status 0\n$`,
	} {
		if got := said.String(); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("the log lacks %s: %q", want, got)
		}
	}
	if got := strings.Count(said.String(), "started: "); got != 1 {
		t.Errorf("%d starts are in the log: those of the ready command belong to no log", got)
	}
}

func TestSaysWhyASandboxDoesNotBecomeReady(t *testing.T) {
	for name, row := range map[string]struct {
		commands Commands
		words    string
	}{
		"a ready command that fails":          {Commands{Ready: "exit 3"}, "ready command timed out after 1s: it ended last with exit status 3"},
		"a ready command that does not end":   {Commands{Ready: "sleep 1000"}, "ready command timed out after 1s: it did not end"},
		"one that does not end at last":       {Commands{Ready: "test -e asked && exec sleep 1000; touch asked; exit 5"}, "timed out after 1s: it ended last with exit status 5"},
		"a start command that has no effect":  {Commands{Start: "exit 1", Ready: "false"}, "timed out after 1s: it ended last with exit status 1"},
		"a ready command that is no program":  {Commands{Ready: "no-such-program"}, "timed out after 1s: it ended last with exit status 127"},
		"a ready command of several commands": {Commands{Ready: "true | exit 4"}, "timed out after 1s: it ended last with exit status 4"},
		"a folder that is gone":               {Commands{Ready: "rmdir $PWD; exit 1"}, "timed out after 1s: cwd '"},
	} {
		t.Run(name, func(t *testing.T) {
			address, _, _ := begin(t, row.commands, time.Second)
			awaitText(t, address, row.words)
		})
	}
}

func TestSaysThatAStartCommandCannotStart(t *testing.T) {
	table := process.NewTable(theReaper(), 0)
	r := &Runner{Table: table, Session: newSession(t, "/no/such/folder"), Commands: Commands{Start: "true", Ready: "true"}}
	if err := r.Begin(Address(t.Name())); err != nil {
		t.Fatal(err)
	}
	awaitText(t, Address(t.Name()), "the start command cannot start: cwd '/no/such/folder' does not exist")
}

func TestAProcessThatAsksAndDoesNotReadHoldsNothingUp(t *testing.T) {
	address, _, _ := begin(t, Commands{Ready: "true"}, patience)
	for range 50 {
		conn, err := net.Dial("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	if err := Await(address, patience); err != nil {
		t.Error(err)
	}
}

func TestWithoutASupervisorItIsNotReady(t *testing.T) {
	awaitText(t, Address(t.Name()), "the daemon does not run the start command yet")
}

func TestTakesTheCommandsOutOfTheEnvironment(t *testing.T) {
	for name, row := range map[string]struct{ start, ready, env, want string }{
		"both":               {"serve", "test -e up", `{"A": "1"}`, "{serve test -e up map[A:1]}"},
		"a start command":    {"serve", "", "", "{serve sleep 20 map[]}"},
		"a ready command":    {"", "test -e up", `{"A": 1}`, "{ test -e up map[]}"},
		"neither":            {"", "", "no JSON", "{  map[]}"},
		"the daemon's words": {"a 'b' \"c\"\nd", "e", "", "{a 'b' \"c\"\nd e map[]}"},
	} {
		t.Setenv(startVariable, row.start)
		t.Setenv(readyVariable, row.ready)
		t.Setenv(environmentVariable, row.env)
		got := TakeCommands()
		if text := fmt.Sprint(got); text != row.want || got.AreNone() != (name == "neither") {
			t.Errorf("%s: got %s", name, text)
		}
		for _, variable := range []string{startVariable, readyVariable, environmentVariable} {
			if _, found := os.LookupEnv(variable); found {
				t.Errorf("%s: %s is left", name, variable)
			}
		}
	}
}
