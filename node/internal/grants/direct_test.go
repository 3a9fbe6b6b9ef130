package grants_test

import (
	"testing"

	"sandlot.dev/node/internal/store"
	"sandlot.dev/node/internal/storetest"
)

func TestOnlyMemoryOfOnePodIsReadPastThePageCache(t *testing.T) {
	for name, test := range map[string]struct {
		direct, copied, cached, want bool
	}{
		"a hibernation":                         {direct: true, want: true},
		"a hibernation in the page cache":       {direct: true, cached: true},
		"a copy":                                {direct: true, copied: true},
		"a hibernation, where the disk cannot":  {},
		"a copy, where the disk cannot read so": {copied: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.direct = test.direct
			n.restart()
			asked := request()
			if test.copied {
				source := store.Key{Namespace: "team", UID: "33333333-7425-40de-944b-e07fc1f90ae7"}
				n.saveAs(source, store.Manifest{Machine: machine, Mode: "Snapshot"})
				asked.SnapshotUID = "22222222-7425-40de-944b-e07fc1f90ae7"
				if _, err := n.store.Copy(store.Key{Namespace: "team", UID: asked.SnapshotUID}, source.UID); err != nil {
					t.Fatal(err)
				}
			}
			if !test.cached {
				storetest.Evict(t, n.store.Path(asked.Snapshot()))
			}
			n.announce(asked)
			given, err := n.ledger.Begin(t.Context(), asked)
			if err != nil || given.Direct != test.want {
				t.Errorf("got %+v, %v; want direct: %v", given, err, test.want)
			}
		})
	}
}
