package save_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// gVisor saves a container whose processes were killed a moment ago as one that runs. Such a snapshot would be worth nothing.
func TestSaveFailsIfAContainerEndsDuringIt(t *testing.T) {
	for name, row := range map[string]struct {
		wanted save.Request
		script string
	}{
		"before a snapshot":                          {request(save.Snapshot), `if [ $verb = checkpoint ]; then killWorker; fi`},
		"after a snapshot, too soon to tell from it": {request(save.Snapshot), `if [ $verb = checkpoint ]; then run "$@"; code=$?; killWorker; exit $code; fi`},
		"before the pause of a hibernation":          {request(save.Hibernate), `if [ $verb = pause ]; then killWorker; fi`},
		"before the pause of a snapshot that holds":  {held(long), `if [ $verb = pause ]; then killWorker; fi`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.wrap(n.withKills() + row.script)
			n.startAgent()
			_, err := n.saver.Save(t.Context(), row.wanted)
			if err == nil || !strings.Contains(err.Error(), "container worker of Pod team/analyst-1 ended while its memory was saved") {
				t.Errorf("got %v", err)
			}
			if _, err := n.store.Get(row.wanted.Snapshot); !errors.Is(err, store.ErrAbsent) {
				t.Errorf("the snapshot: %v", err)
			}
			if left := n.remains(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			if n.pod.StandsStill() {
				t.Error("what is left of the Pod stands still")
			}
		})
	}
}

// The memory may be all that is left of a Pod whose sandbox ends right after the save.
func TestSnapshotOfASandboxThatEndsAfterItIsKept(t *testing.T) {
	for name, row := range map[string]struct {
		mode   save.Mode
		script string
	}{
		"a snapshot":    {save.Snapshot, `if [ $verb = checkpoint ]; then run "$@"; code=$?; deleteSandbox; exit $code; fi`},
		"a hibernation": {save.Hibernate, `if [ $verb = checkpoint ]; then run "$@"; code=$?; deleteSandbox; exit $code; fi`},
		// The agent asks the sandbox first, by the order of the ids.
		"a snapshot, while the agent asks for the states": {save.Snapshot, `if [ $verb = checkpoint ]; then run "$@"; code=$?; touch $0.saved; exit $code; fi
if [ $verb = state ] && [ -e $0.saved ]; then case "$*" in *worker*) deleteSandbox; deleteWorker ;; esac; fi`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.wrap(n.withKills() + row.script)
			n.startAgent()
			m, err := n.saver.Save(t.Context(), request(row.mode))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.store.Verify(t.Context(), m.Key); err != nil {
				t.Error(err)
			}
		})
	}
}

// withKills defines, for wrap, killWorker, which returns once no process of the container is left, deleteWorker and deleteSandbox.
func (n *node) withKills() string {
	command := n.runsc.Binary + " --root " + n.runsc.Root + " " + strings.Join(n.runsc.Flags, " ")
	return fmt.Sprintf(`killWorker() { %[1]s kill %[2]s KILL; while %[1]s state %[2]s | grep -q '"running"'; do :; done; }
deleteWorker() { %[1]s delete -force %[2]s; }
deleteSandbox() { %[1]s delete -force %[3]s; }
`, command, n.pod.Worker, n.pod.Sandbox)
}
