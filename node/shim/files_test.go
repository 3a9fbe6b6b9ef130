package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandlot.dev/node/shim/internal/agent"
	"sandlot.dev/node/shim/internal/shimtest"
)

// filesOf is the agent's answer with the files of containers alone.
func filesOf(files map[string]string) map[string]any { return map[string]any{"files": files} }

func saveFiles(t *testing.T, node *shimtest.Node) string {
	t.Helper()
	source := node.StartPod(savedUID, nil)
	source.Exec("sh", "-c", "busybox mkdir /home; echo kept > /home/note; echo changed > /bin/new; busybox rm /bin/sh")
	path := source.SaveFiles()
	if err := source.Delete(); err != nil {
		t.Error(err)
	}
	return path
}

func TestPodBootsWithItsFiles(t *testing.T) {
	node := shimtest.NewNode(t)
	source := node.StartPod(savedUID, nil)
	source.Exec("sh", "-c", "busybox mkdir /home; echo kept > /home/note")
	path := source.SaveFiles()
	if err := source.Delete(); err != nil {
		t.Error(err)
	}
	a := serveAgent(t, node, http.StatusOK, filesOf(map[string]string{shimtest.Worker: path}))

	booted := node.StartPod(restoredUID, mark)
	next(t, a.begins)
	if got, want := next(t, a.ends), (agent.Outcome{PodUID: restoredUID, Restored: true}); got != want {
		t.Errorf("the agent got %+v", got)
	}
	if got := booted.Exec("busybox", "cat", "/home/note"); got != "kept\n" {
		t.Errorf("the note has %q", got)
	}
	// A container that starts again does so as in any other Pod: the files of the snapshot may be gone.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := booted.StartWorker("later"); err != nil {
		t.Error(err)
	}
	a.expectSilence(t)
	if err := booted.Delete(); err != nil {
		t.Error(err)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
}

func TestPodThatBootedWithItsFilesIsSavedAndRestored(t *testing.T) {
	node := shimtest.NewNode(t)
	path := saveFiles(t, node)
	files := serveAgent(t, node, http.StatusOK, filesOf(map[string]string{shimtest.Worker: path}))
	booted, err := node.RunPod(otherUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := booted.StartWorkerAs(shimtest.Worker, "/bin/busybox", "sleep", "1000000"); err != nil {
		t.Fatal(err)
	}
	next(t, files.ends)
	files.stop()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	folder := booted.Save()
	if err := booted.Delete(); err != nil {
		t.Error(err)
	}
	memory := serveAgent(t, node, http.StatusOK, image(folder))
	restored, err := node.RunPod(restoredUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.StartWorkerAs(shimtest.Worker, "/bin/busybox", "sleep", "1000000"); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, memory.ends), (agent.Outcome{PodUID: restoredUID, Restored: true}); got != want {
		t.Errorf("the agent got %+v", got)
	}
	if got := restored.Exec("busybox", "cat", "/home/note"); got != "kept\n" {
		t.Errorf("the note has %q", got)
	}
}

func TestPodWhoseFilesCannotBeReadIsReported(t *testing.T) {
	node := shimtest.NewNode(t)
	path := filepath.Join(t.TempDir(), "damaged.tar")
	if err := os.WriteFile(path, []byte(strings.Repeat("no tar", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	a := serveAgent(t, node, http.StatusOK, filesOf(map[string]string{shimtest.Worker: path}))
	booted, err := node.RunPod(restoredUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := booted.StartWorker(shimtest.Worker); err == nil {
		t.Error("it starts")
	}
	if got := next(t, a.ends); got.Restored || got.Message == "" {
		t.Errorf("the agent got %+v", got)
	}
	node.WaitFor("end of the Pod's processes", func() bool { return len(node.Processes()) == 0 })
}

func TestPodThatEndsBeforeItHasItsFilesIsReported(t *testing.T) {
	node := shimtest.NewNode(t)
	a := serveAgent(t, node, http.StatusOK, filesOf(map[string]string{shimtest.Worker: "/nowhere.tar"}))
	booted, err := node.RunPod(restoredUID, mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := booted.Delete(); err != nil {
		t.Error(err)
	}
	if got := next(t, a.ends); got.Restored || got.Message == "" {
		t.Errorf("the agent got %+v", got)
	}
}

// Where containerd passes the annotations of gVisor on, a Pod could name any file of the node.
func TestPodThatNamesAFileOfTheNodeDoesNotStart(t *testing.T) {
	node := shimtest.NewNodeThatPasses(t, "dev.gvisor.*")
	path := saveFiles(t, node)
	pod, err := node.RunPod(restoredUID, map[string]string{"dev.gvisor.tar.rootfs.upper." + shimtest.Worker: path})
	if err == nil {
		err = pod.StartWorker(shimtest.Worker)
	}
	if err == nil || !strings.Contains(err.Error(), "it would read a file of the node") {
		t.Errorf("got %v", err)
	}
}
