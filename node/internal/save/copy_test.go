package save_test

import (
	"strings"
	"sync"
	"testing"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

const memoryFile, diskFile = "/dev/shm/memory", "/note"

// read returns what a Pod has in a file of its memory and in one of its root file system.
func read(p *runsctest.Pod) (memory, disk string) {
	return strings.Fields(p.Exec("busybox", "md5sum", memoryFile) + " none")[0], strings.TrimSpace(p.Exec("busybox", "cat", diskFile))
}

func overwrite(p *runsctest.Pod, name string) {
	p.Exec("sh", "-c", "yes "+name+" | busybox head -c 16777216 | busybox dd of="+memoryFile+" bs=1M conv=notrunc; echo "+name+" > "+diskFile)
}

func TestPodsRestoredFromCopiesOfOneSnapshotDoNotShareWhatTheyWrite(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of="+memoryFile+" bs=1M count=16; echo saved > "+diskFile)
	memory, _ := read(n.pod)
	before := n.pod.Count()
	source := request(save.Snapshot).Snapshot
	if _, err := n.saver.Save(t.Context(), request(save.Snapshot)); err != nil {
		t.Fatal(err)
	}
	overwrite(n.pod, "source")
	pods := make([]*runsctest.Pod, 3)
	keys := make([]store.Key, len(pods))
	var group sync.WaitGroup
	for i := range pods {
		keys[i] = store.Key{Namespace: "team", UID: copyUIDs[i]}
		if _, err := n.store.Copy(keys[i], source.UID); err != nil {
			t.Fatal(err)
		}
		// The third one is restored after the others have written.
		if i < 2 {
			group.Go(func() { pods[i] = n.restoreCopy(keys[i]) })
		}
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, pod := range pods[:2] {
		if got, note := read(pod); got != memory || note != "saved" || pod.Count() < before {
			t.Fatalf("Pod %d has %s, %q and the count %d; saved were %s and %d", i, got, note, pod.Count(), memory, before)
		}
	}
	overwrite(pods[0], "first")
	if got, note := read(pods[1]); got != memory || note != "saved" {
		t.Errorf("the second Pod sees what the first wrote: %s, %q", got, note)
	}
	overwrite(pods[1], "second")
	if _, note := read(pods[0]); note != "first" {
		t.Errorf("the first Pod sees %q", note)
	}
	if _, note := read(n.pod); note != "source" {
		t.Errorf("the source sees %q", note)
	}
	for _, key := range append(keys, source) {
		if _, err := n.store.Verify(t.Context(), key); err != nil {
			t.Errorf("a Pod changed what it was restored from: %v", err)
		}
	}
	// The source and the other copies go while Pods run that came from the same files.
	for _, key := range append(keys[:2:2], source) {
		if err := n.saver.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	pods[2] = n.restoreCopy(keys[2])
	if got, note := read(pods[2]); got != memory || note != "saved" {
		t.Errorf("the third Pod has %s, %q; saved was %s", got, note, memory)
	}
	for _, pod := range append(pods, n.pod) {
		pod.GoesOn()
	}
}

var copyUIDs = []string{"21111111-7425-40de-944b-e07fc1f90ae7", "22222222-7425-40de-944b-e07fc1f90ae7", "23333333-7425-40de-944b-e07fc1f90ae7"}

// restoreCopy starts a Pod whose UID is that of its copy.
func (n *node) restoreCopy(key store.Key) *runsctest.Pod {
	n.t.Helper()
	return n.rt.RestorePod(runsc.PodName{Namespace: "team", Name: "fork", UID: key.UID}, n.store.Path(key))
}
