package save_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// within limits the size of the snapshot.
func within(mode save.Mode, bytes int64) save.Request {
	r := request(mode)
	r.MostBytes = &bytes
	return r
}

func (n *node) expectQuotaError(request save.Request) *save.QuotaError {
	n.t.Helper()
	var exceeded *save.QuotaError
	if _, err := n.saver.Save(n.t.Context(), request); !errors.As(err, &exceeded) {
		n.t.Fatalf("got %v", err)
	}
	n.expectNothing()
	return exceeded
}

func (n *node) usage() int64 {
	n.t.Helper()
	bytes, err := n.rt.Usage(n.t.Context(), n.pod.Sandbox)
	if err != nil {
		n.t.Fatal(err)
	}
	return bytes
}

func TestMemoryAboveTheQuotaIsSeenBeforeThePause(t *testing.T) {
	n := newNode(t)
	touched := filepath.Join(t.TempDir(), "touched")
	n.wrap(`case $verb in pause|checkpoint) touch ` + touched + ` ;; esac`)
	n.startAgent()
	n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/dev/shm/large bs=1M count=32")
	for _, bytes := range []int64{0, 32 << 20} {
		for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
			if got := n.expectQuotaError(within(mode, bytes)); got.MostBytes != bytes || got.Bytes <= 32<<20 {
				t.Errorf("got %+v", got)
			}
		}
	}
	if _, err := os.Stat(touched); err == nil {
		t.Error("the Pod noticed it")
	}
	m, err := n.saver.Save(t.Context(), within(save.Snapshot, 2*n.usage()))
	if err != nil {
		t.Fatal(err)
	}
	// What the quota has left when a request is repeated is no matter: the snapshot is there and counts.
	if again, err := n.saver.Save(t.Context(), within(save.Snapshot, 0)); err != nil || again.Bytes != m.Bytes {
		t.Errorf("repeated: got %+v, %v", again, err)
	}
}

func TestFilesAboveTheQuotaAreSeenBeforeThereIsASnapshot(t *testing.T) {
	for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
		n := newNode(t)
		n.startAgent()
		n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/large bs=1M count=32")
		// gVisor's estimate has nothing of the file.
		if got := n.expectQuotaError(within(mode, n.usage()+8<<20)); got.Bytes <= 32<<20 {
			t.Errorf("got %+v", got)
		}
		if _, err := n.saver.Save(t.Context(), within(mode, n.usage()+64<<20)); err != nil {
			t.Errorf("within the quota: %v", err)
		}
	}
}

func TestSaveDoesNotReplaceACopy(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	source := request(save.Snapshot)
	if _, err := n.saver.Save(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	second := source
	second.Snapshot = store.Key{Namespace: "team", UID: otherUID}
	if _, err := n.store.Copy(second.Snapshot, source.Snapshot.UID); err != nil {
		t.Fatal(err)
	}
	var conflict *save.ConflictError
	if _, err := n.saver.Save(t.Context(), second); !errors.As(err, &conflict) {
		t.Errorf("got %v", err)
	}
	if err := n.saver.CheckStart(podUID); err != nil {
		t.Errorf("the source may not start because of a copy: %v", err)
	}
	if err := n.saver.Delete(t.Context(), second.Snapshot); err != nil {
		t.Fatal(err)
	}
	n.pod.GoesOn()
}
