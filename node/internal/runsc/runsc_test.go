package runsc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
)

var analyst = runsc.PodName{Namespace: "team", Name: "analyst-1", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"}

func TestMemoryFilesAndListenerGoOnInAnotherPod(t *testing.T) {
	r := runsctest.NewRuntime(t)
	source := r.StartPod(analyst)
	source.Exec("sh", "-c", "echo kept > /tmp/note")
	source.WaitFor("count of 20", func() bool { return source.Count() >= 20 })
	before := source.Count()
	folder := filepath.Join(t.TempDir(), "image")
	if err := r.Checkpoint(t.Context(), source.Sandbox, runsc.CheckpointOptions{Folder: folder, LeaveRunning: true}); err != nil {
		t.Fatal(err)
	}
	source.GoesOn()
	source.Delete()

	copied := analyst
	copied.UID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	fork := r.RestorePod(copied, folder)
	if got := fork.Count(); got < before {
		t.Errorf("the count began anew: %d after %d", got, before)
	}
	fork.GoesOn()
	if got := strings.TrimSpace(fork.Exec("busybox", "cat", "/tmp/note")); got != "kept" {
		t.Errorf("the file has %q", got)
	}
	fork.WaitFor("answer of the listener", fork.Hears)
}

func TestPausedSandboxIsSavedAndStaysPaused(t *testing.T) {
	r := runsctest.NewRuntime(t)
	pod := r.StartPod(analyst)
	if err := r.Pause(t.Context(), pod.Sandbox, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Checkpoint(t.Context(), pod.Sandbox, runsc.CheckpointOptions{Folder: filepath.Join(t.TempDir(), "image"), LeaveRunning: true}); err != nil {
		t.Fatal(err)
	}
	if !pod.StandsStill() {
		t.Error("it goes on")
	}
	if err := r.Resume(t.Context(), pod.Sandbox); err != nil {
		t.Fatal(err)
	}
	pod.GoesOn()
}

func TestFindPodWantsNamespaceNameAndUID(t *testing.T) {
	r := runsctest.NewRuntime(t)
	if found, err := r.List(t.Context()); err != nil || len(found) != 0 {
		t.Fatalf("without containers: %v, %v", found, err)
	}
	started := r.StartPod(analyst)
	pod, err := r.FindPod(t.Context(), analyst)
	if err != nil || pod.Sandbox != started.Sandbox || pod.Status != runsc.Running || !slices.Equal(pod.Containers, []string{"worker"}) {
		t.Errorf("got %+v, %v", pod, err)
	}
	for field, change := range map[string]func(*runsc.PodName){
		"namespace": func(n *runsc.PodName) { n.Namespace = "rival" },
		"name":      func(n *runsc.PodName) { n.Name = "analyst-2" },
		"UID":       func(n *runsc.PodName) { n.UID = "7c9e6679-7425-40de-944b-e07fc1f90ae7" },
	} {
		other := analyst
		change(&other)
		var absent *runsc.AbsentError
		if _, err := r.FindPod(t.Context(), other); !errors.As(err, &absent) {
			t.Errorf("another %s: got %v", field, err)
		}
	}
}

// A list would wait for every sandbox of the node.
func TestFindPodDoesNotWaitForASandboxThatDoesNotAnswer(t *testing.T) {
	r := runsctest.NewRuntime(t)
	r.StartPod(analyst)
	other := runsc.PodName{Namespace: "rival", Name: "greedy", UID: "7c9e6679-7425-40de-944b-e07fc1f90ae7"}
	silent := r.StartPod(other)
	silent.Freeze()
	r.Limits.Brief = 5 * time.Second
	if pod, err := r.FindPod(t.Context(), analyst); err != nil || pod.Status != runsc.Running || len(pod.Containers) != 1 {
		t.Errorf("got %+v, %v", pod, err)
	}
	if _, err := r.List(t.Context()); err == nil {
		t.Error("a list does not wait for it, so it need not be avoided")
	}
}

func TestFindPodListsWhenTheFilesOfGVisorCannotBeRead(t *testing.T) {
	r := runsctest.NewRuntime(t)
	started := r.StartPod(analyst)
	listed := filepath.Join(t.TempDir(), "listed")
	wrapped := script(t, `case " $* " in *" list "*) touch `+listed+` ;; esac; exec `+r.Binary+` "$@"`+"\n")
	wrapped.Root, wrapped.Flags = r.Root, r.Flags
	find := func(wantsList bool) {
		t.Helper()
		pod, err := wrapped.FindPod(t.Context(), analyst)
		_, missing := os.Stat(listed)
		if err != nil || pod.Sandbox != started.Sandbox || len(pod.Containers) != 1 || (missing == nil) != wantsList {
			t.Errorf("got %+v, %v; listed: %t", pod, err, missing == nil)
		}
	}
	find(false)
	unreadable := filepath.Join(r.Root, "half_sandbox:half.state")
	if err := os.WriteFile(unreadable, []byte(`{"id":"ha`), 0o600); err != nil {
		t.Fatal(err)
	}
	find(true)
}

func TestErrorKeepsWhatRunscSaid(t *testing.T) {
	r := runsctest.NewRuntime(t)
	var failed *runsc.Error
	if err := r.Resume(t.Context(), "no-such-container"); !errors.As(err, &failed) || failed.Verb != "resume" || failed.Tail == "" {
		t.Errorf("got %v", err)
	}
}

func TestFingerprintNamesVersionAndProcessor(t *testing.T) {
	r := runsctest.NewRuntime(t)
	one, err := r.Fingerprint(t.Context())
	if err != nil || one.RunscVersion == "" || one.OCIVersion == "" || len(one.CPUFeatures) < 10 {
		t.Errorf("got %+v, %v", one, err)
	}
	if again, err := r.Fingerprint(t.Context()); err != nil || again.Hash != one.Hash {
		t.Errorf("asked again: %s, %v; before: %s", again.Hash, err, one.Hash)
	}
}

// script makes a program that stands for a runsc that behaves badly.
func script(t *testing.T, text string) runsc.Runsc {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	limits := runsc.Limits{Brief: time.Minute, Checkpoint: time.Minute, Restore: time.Minute}
	return runsc.Runsc{Binary: path, Root: t.TempDir(), Limits: limits}
}

func TestCommandThatDoesNotEndIsKilled(t *testing.T) {
	r := script(t, "echo stuck >&2; exec sleep 1000\n")
	r.Limits.Brief = 500 * time.Millisecond
	if err := r.Resume(t.Context(), "any"); err == nil || !strings.Contains(err.Error(), "no end after 500ms") {
		t.Errorf("got %v", err)
	}
}

func TestCallerCanGiveUp(t *testing.T) {
	r := script(t, "exec sleep 1000\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Resume(ctx, "any"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestProgramThatIsNotRunscHasNoFingerprint(t *testing.T) {
	r := script(t, "echo hello\n")
	if _, err := r.Fingerprint(t.Context()); err == nil || !strings.Contains(err.Error(), "is it gVisor's runsc?") {
		t.Errorf("got %v", err)
	}
}

func TestErrorIsBounded(t *testing.T) {
	r := script(t, "yes loud | head -c 100000 >&2; echo the end >&2; exit 1\n")
	err := r.Resume(t.Context(), "any")
	if err == nil || len(err.Error()) > 4<<10 || !strings.HasSuffix(err.Error(), "the end") {
		t.Errorf("got %d characters", len(err.Error()))
	}
}

func TestMachineIsDescribedAnewAfterAnUpgrade(t *testing.T) {
	text := `echo asked >> "$0.asked"; case "$*" in *cpu-features*) echo sse ;; *) printf 'runsc version one\nspec: 1.2.0\n' ;; esac` + "\n"
	r := script(t, text)
	machine := runsc.NewMachine(r)
	describe := func(want string) {
		t.Helper()
		for range 2 {
			if got, err := machine.Describe(t.Context()); err != nil || got.RunscVersion != want {
				t.Errorf("got %+v, %v; want version %s", got, err, want)
			}
		}
	}
	describe("one")
	if err := os.WriteFile(r.Binary+".next", []byte("#!/bin/sh\n"+strings.Replace(text, "version one", "version two", 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.Binary+".next", r.Binary); err != nil {
		t.Fatal(err)
	}
	describe("two")
	if asked, err := os.ReadFile(r.Binary + ".asked"); err != nil || strings.Count(string(asked), "asked") != 4 {
		t.Errorf("each program was not asked once: %q, %v", asked, err)
	}
}

func TestUsageFollowsTheMemoryOfThePod(t *testing.T) {
	r := runsctest.NewRuntime(t)
	pod := r.StartPod(analyst)
	before, err := r.Usage(t.Context(), pod.Sandbox)
	if err != nil || before <= 0 {
		t.Fatalf("got %d, %v", before, err)
	}
	pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/dev/shm/large bs=1M count=32")
	after, err := r.Usage(t.Context(), pod.Sandbox)
	if err != nil || after-before < 31<<20 {
		t.Errorf("got %d after %d, %v", after, before, err)
	}
	folder := filepath.Join(t.TempDir(), "image")
	if err := r.Checkpoint(t.Context(), pod.Sandbox, runsc.CheckpointOptions{Folder: folder, LeaveRunning: true}); err != nil {
		t.Fatal(err)
	}
	pages, err := os.Stat(filepath.Join(folder, "pages.img"))
	if err != nil || pages.Size() > after {
		t.Errorf("the pages have %d bytes, the usage was %d", pages.Size(), after)
	}
}

func TestUsageWithoutATotalIsAnError(t *testing.T) {
	for _, said := range []string{"", "none", "{}", `{"Total": 0}`} {
		if _, err := script(t, "echo '"+said+"'\n").Usage(t.Context(), "any"); err == nil {
			t.Errorf("%q was taken", said)
		}
	}
}
