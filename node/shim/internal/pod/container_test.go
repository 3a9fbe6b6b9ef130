package pod

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gvisor.dev/gvisor/pkg/shim/v1/runsc"

	"sandlot.dev/node/shim/internal/agent"
)

const snapshot = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

// annotationsOf are those of a container that containerd makes of a Pod with the mark.
func annotationsOf(kind string) map[string]string {
	return map[string]string{
		typeKey:           kind,
		sandboxIDKey:      "pause-1",
		namespaceKey:      "team",
		podNameKey:        "analyst-1",
		podUIDKey:         "0f8fad5b-d9cb-469f-a165-70867728950e",
		RestoreAnnotation: snapshot,
	}
}

func TestPodWithTheMarkIsRestored(t *testing.T) {
	want := agent.Restore{Namespace: "team", PodName: "analyst-1", PodUID: "0f8fad5b-d9cb-469f-a165-70867728950e", SnapshotUID: snapshot}
	pause := decideContainer("pause-1", "/bundle", annotationsOf("sandbox"))
	if !pause.isPause() || !pause.isRestored() || pause.restore != want {
		t.Errorf("the pause container is %+v", pause)
	}
	worker := decideContainer("worker-1", "/bundle", annotationsOf("container"))
	if worker.isPause() || worker.sandbox != "pause-1" || worker.restore != want {
		t.Errorf("another container is %+v", worker)
	}
}

func TestContainerWithoutTheMarkStartsAsBefore(t *testing.T) {
	unmarked := annotationsOf("sandbox")
	delete(unmarked, RestoreAnnotation)
	// ctr and docker make containers that belong to no Pod.
	alone := map[string]string{RestoreAnnotation: snapshot}
	for name, annotations := range map[string]map[string]string{"of a Pod": unmarked, "of no Pod": alone, "without annotations": nil} {
		if c := decideContainer("pause-1", "/bundle", annotations); c.isRestored() || !c.isPause() {
			t.Errorf("a container %s is %+v", name, c)
		}
	}
}

func TestRestoreNeedsAGVisorThatOnlyWarns(t *testing.T) {
	for value, allowed := range map[string]bool{"warning": true, "ignore": true, "enforce": false, "": false} {
		err := checkValidation(runsc.Options{RunscConfig: map[string]string{"restore-spec-validation": value}})
		if (err == nil) != allowed {
			t.Errorf("with %q: %v", value, err)
		}
		if err != nil && !strings.Contains(err.Error(), `set restore-spec-validation = "warning" in [runsc_config]`) {
			t.Errorf("with %q it does not say what to do: %v", value, err)
		}
	}
}

func TestOnlyTheSandboxOfThePodIsEnded(t *testing.T) {
	line := func(args ...string) []byte { return []byte(strings.Join(args, "\x00") + "\x00") }
	for _, test := range []struct {
		line []byte
		want bool
	}{
		{line("runsc-sandbox", "--root=/run/gvisor/k8s.io", "boot", "--bundle=/b", "pause-1"), true},
		{line("runsc-sandbox", "--root=/run/gvisor/k8s.io", "boot", "--bundle=/b", "pause-12"), false},
		{line("runsc-gofer", "--root=/run/gvisor/k8s.io", "gofer", "--bundle=/b", "pause-1"), false},
		{line("sleep", "1000"), false},
		{nil, false},
	} {
		if got := isSandbox(test.line, "pause-1"); got != test.want {
			t.Errorf("%q: got %v", test.line, got)
		}
	}
}

func TestProcessThatIsNoSandboxLivesOn(t *testing.T) {
	self := os.Getpid()
	if err := checkSandbox(self, "pause-1"); err == nil || !strings.Contains(err.Error(), "is not sandbox pause-1") {
		t.Errorf("got %v", err)
	}
	// No process has this number: the kernel's limit is lower.
	if err := checkSandbox(1<<30, "pause-1"); err != nil {
		t.Errorf("a sandbox that has ended: %v", err)
	}
}

func TestProcessIsGoneOnceItsParentHasCollectedIt(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	held := holdProcess(child.Process.Pid)
	defer held.release()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if held.kill(impatient) {
		t.Error("it is gone before its parent has collected it")
	}
	if err := child.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if !held.kill(t.Context()) {
		t.Error("it is never gone")
	}
	// No process has this number: the kernel's limit is lower. gVisor gives a sandbox that has ended the number -1.
	for _, pid := range []int{1 << 30, -1, 0} {
		if absent := holdProcess(pid); !absent.kill(t.Context()) {
			t.Errorf("process %d, which is not there, is not gone", pid)
		}
	}
}

func TestOtherContainersAreThoseOfTheSamePod(t *testing.T) {
	folder := t.TempDir()
	ofPod := func(kind, sandbox string) map[string]string {
		return map[string]string{typeKey: kind, sandboxIDKey: sandbox}
	}
	for id, annotations := range map[string]map[string]string{
		"pause-1":  ofPod("sandbox", "pause-1"),
		"worker-1": ofPod("container", "pause-1"),
		"worker-2": ofPod("container", "pause-1"),
		"pause-2":  ofPod("sandbox", "pause-2"),
		"worker-3": ofPod("container", "pause-2"),
		"alone":    nil,
	} {
		text, err := json.Marshal(map[string]any{"annotations": annotations})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(folder, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, id, "config.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "being-made"), 0o700); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{"pause-1": {"worker-1", "worker-2"}, "worker-1": {"worker-1", "worker-2"}, "alone": nil} {
		c, err := readContainer(id, filepath.Join(folder, id))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.others(); !slices.Equal(got, want) {
			t.Errorf("seen from %s: %v", id, got)
		}
	}
}
