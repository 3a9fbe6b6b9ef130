package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/reaper"
)

const patience = 30 * time.Second

// One reaper collects all exits of the test process, so the tests here must not use os/exec.
var collector = sync.OnceValue(reaper.Run)

func shell(script string) Spec {
	return Spec{Cmd: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Stdin: true}
}

func start(t *testing.T, table *Table, script string) (*Process, *Subscription) {
	t.Helper()
	p, s, err := table.Start(shell(script), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return p, s
}

// end waits for the end and returns it with all output before.
func end(t *testing.T, s *Subscription) (string, *End) {
	t.Helper()
	var output strings.Builder
	for {
		select {
		case event := <-s.Events():
			if event.End != nil {
				return output.String(), event.End
			}
			output.Write(event.Data)
		case <-time.After(patience):
			t.Fatal("the process did not end")
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatal("timed out waiting until " + what)
}

func TestConcurrentProcessesKeepTheirOwnStatusAndOutput(t *testing.T) {
	table := NewTable(collector(), time.Minute)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			_, s, err := table.Start(shell(fmt.Sprintf("echo %d; (exit 9) & exit %d", i, i)), nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			output, ended := end(t, s)
			if output != fmt.Sprintf("%d\n", i) || ended.ExitCode != i {
				t.Errorf("%d said %q and ended with %+v", i, output, ended)
			}
		})
	}
	all.Wait()
	eventually(t, "the list is empty", func() bool { return len(table.Live()) == 0 })
}

func TestAnEndedProcessIsForgottenAfterAWhile(t *testing.T) {
	table := NewTable(collector(), time.Millisecond)
	p, s := start(t, table, "exit 3")
	_, ended := end(t, s)
	if ended.ExitCode != 3 {
		t.Errorf("ended with %+v", ended)
	}
	eventually(t, "the process is forgotten", func() bool { return table.ByPid(p.Pid) == nil })
	kept := NewTable(collector(), time.Hour)
	p, s = start(t, kept, "exit 4")
	_, _ = end(t, s)
	late := kept.ByPid(p.Pid).Subscribe()
	defer late.Close()
	if _, again := end(t, late); again.ExitCode != 4 {
		t.Errorf("late, it ended with %+v", again)
	}
}

func TestAProcessContinuesWhenItsSubscriberLeaves(t *testing.T) {
	table := NewTable(collector(), time.Minute)
	_, slow := start(t, table, "head -c 10000000 /dev/zero; exit 5")
	other := table.Live()[0].Subscribe()
	defer other.Close()
	slow.Close()
	slow.Close()
	output, ended := end(t, other)
	if ended.ExitCode != 5 || len(output) > 10_000_000 {
		t.Errorf("%d bytes and %+v", len(output), ended)
	}
}

func TestInputThatCannotBeWrittenFailsWithTheReason(t *testing.T) {
	table := NewTable(collector(), time.Minute)
	p, s := start(t, table, "exec sleep 60")
	done := make(chan error, 1)
	go func() { done <- p.WriteStdin(context.Background(), make([]byte, 1<<20)) }()
	// The first write holds the turn; a second one that gives up must not write.
	eventually(t, "the first write blocks", func() bool { return len(p.in.turn) == 0 })
	gaveUp, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.WriteStdin(gaveUp, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("the writer that gave up got %v", err)
	}
	p.Abandon()
	if err := <-done; !errors.Is(err, ErrExited) {
		t.Errorf("the first writer got %v", err)
	}
	_, _ = end(t, s)
	for name, err := range map[string]error{
		"input":  p.WriteStdin(context.Background(), []byte("x")),
		"signal": p.Signal(15),
		"close":  p.CloseStdin(context.Background()),
	} {
		if err != nil && !errors.Is(err, ErrExited) && !errors.Is(err, ErrNoInput) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}

func TestNoDescriptorStaysOpenAfterProcessesEnd(t *testing.T) {
	table := NewTable(collector(), time.Minute)
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	_, first := start(t, table, "true")
	_, _ = end(t, first)
	before := descriptors()
	for range 20 {
		_, s := start(t, table, "cat <&-")
		_, _ = end(t, s)
		spec := shell("tty")
		spec.Terminal = &Size{80, 24}
		_, s, err := table.Start(spec, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = end(t, s)
		s.Close()
		if _, _, err := table.Start(Spec{Cmd: "/no/such", Dir: "/"}, nil, nil); err == nil {
			t.Fatal("a missing program started")
		}
	}
	eventually(t, "all descriptors are closed", func() bool { return descriptors() <= before })
}

func TestTheDaemonsOOMScoreIsRestoredAfterAStart(t *testing.T) {
	before, err := os.ReadFile(oomFile)
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable(collector(), time.Minute)
	spec := shell("cat /proc/self/oom_score_adj")
	spec.OOMScoreAdj = 2000
	_, s, err := table.Start(spec, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if output, _ := end(t, s); output != "1000\n" {
		t.Errorf("the child has %q", output)
	}
	if after, _ := os.ReadFile(oomFile); string(after) != string(before) {
		t.Errorf("the daemon has %q after %q", after, before)
	}
}
