package remote

import (
	"errors"
	"strings"
	"testing"

	"sandlot.dev/node/internal/deathtest"
	"sandlot.dev/node/internal/store"
)

func TestDeathOfADownloadLeavesAWholeSnapshotOrNone(t *testing.T) {
	s := settings(t)
	source := newNode(t, s)
	source.save(one, small("memory"))
	digest := source.mustUpload(one).Digest
	made := 0
	steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
		root := t.TempDir()
		return deathtest.Trial{Command: order{Store: root, Settings: s, Digest: digest}.command(t), Judge: func(step string, _ error) {
			n := openNode(t, s, root)
			defer n.stop()
			if _, err := n.Store.Get(one); errors.Is(err, store.ErrAbsent) {
				n.expectNothing()
			} else {
				made++
			}
			if _, err := n.Download(t.Context(), one, digest); err != nil {
				t.Errorf("%s: the next download: %v", step, err)
			}
			n.expectWhole(one, small("memory"))
		}}
	})
	if steps < 10 || made == 0 || made == steps {
		t.Errorf("%d steps, of which %d left a snapshot", steps, made)
	}
}

func TestDeathOfAnUploadLeavesAWholeSnapshotOrNone(t *testing.T) {
	shared := settings(t)
	root := t.TempDir()
	first := openNode(t, shared, root)
	first.save(one, small("memory"))
	first.stop()
	made, try := 0, 0
	steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
		s := shared
		try++
		s.Prefix += "-" + strings.Repeat("i", try)
		return deathtest.Trial{Command: order{Store: root, Settings: s}.command(t), Judge: func(step string, _ error) {
			bucket := newAttacker(t, s)
			target := newNode(t, s)
			defer target.stop()
			if text, isThere := bucket.read()[manifestOf(one)]; isThere {
				made++
				if _, err := target.Download(t.Context(), one, sumEnvelope(text)); err != nil {
					t.Errorf("%s: %v", step, err)
				}
			}
			n := openNode(t, s, root)
			defer n.stop()
			digest := n.mustUpload(one).Digest
			if _, err := n.Verify(t.Context(), one, digest); err != nil {
				t.Errorf("%s: the next upload: %v", step, err)
			}
			if err := n.Delete(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			if left := bucket.read(); len(left) != 0 {
				t.Errorf("%s: the bucket has %d objects", step, len(left))
			}
		}}
	})
	if steps < 5 || made == steps {
		t.Errorf("%d steps, of which %d left a snapshot", steps, made)
	}
}
