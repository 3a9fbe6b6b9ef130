package save_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sandlot.dev/node/internal/save"
)

// The script kills the agent, its parent, with SIGKILL.
const killAgent = `kill -9 $PPID`

func TestPodGoesOnAfterTheDeathOfTheAgent(t *testing.T) {
	rows := map[string]string{
		"before the pause":                 `if [ $verb = pause ]; then ` + killAgent + `; exit 1; fi`,
		"while a pause is under way":       `if [ $verb = pause ]; then ` + killAgent + `; sleep 0.5; run "$@"; touch "$0.done"; exit 0; fi`,
		"after the pause":                  `if [ $verb = pause ]; then run "$@"; ` + killAgent + `; exit 0; fi`,
		"before the checkpoint":            `if [ $verb = checkpoint ]; then ` + killAgent + `; exit 1; fi`,
		"while a checkpoint is under way":  `if [ $verb = checkpoint ]; then ` + killAgent + `; sleep 0.5; fi`,
		"after the checkpoint":             `if [ $verb = checkpoint ]; then run "$@"; ` + killAgent + `; exit 0; fi`,
		"before it found the Pod":          `if [ $verb = state ]; then ` + killAgent + `; exit 1; fi`,
		"after a failure, in the recovery": `case $verb in checkpoint) exit 1 ;; resume) ` + killAgent + `; exit 1 ;; esac`,
	}
	for name, script := range rows {
		for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
			// A snapshot is saved without pause and resume.
			if mode == save.Snapshot && (!strings.Contains(script, "checkpoint") || strings.Contains(script, "resume")) {
				continue
			}
			t.Run(name+", "+string(mode), func(t *testing.T) {
				n := newNode(t)
				whole := n.runsc
				n.wrap(script)
				n.dieSaving(mode)
				wrapped := n.runsc.Binary
				n.runsc = whole
				n.startAgent()
				if strings.Contains(script, "$0.done") {
					n.pod.WaitFor("end of the earlier runsc", func() bool { _, err := os.Stat(wrapped + ".done"); return err == nil })
				}
				n.expectNothing()
				if _, err := n.saver.Save(t.Context(), request(mode)); err != nil {
					t.Errorf("the next save: %v", err)
				}
			})
		}
	}
}

// Here the outcome depends on which is faster, but it is whole in each case.
func TestDeathWhileTheManifestIsWrittenLeavesAWholeSnapshotOrNone(t *testing.T) {
	for _, sign := range []string{"team/.saving-*/pages.img", "team/.saving-*/.manifest.json", "team/.saving-*/manifest.json", "team/" + snapshotUID} {
		t.Run(sign, func(t *testing.T) {
			n := newNode(t)
			whole := n.runsc
			n.wrap(`if [ $verb = checkpoint ]; then agent=$PPID; run "$@"
(for i in $(seq 20000); do for f in ` + n.folder + `/` + sign + `; do if [ -e $f ]; then kill -9 $agent; exit; fi; done; done) 3>&- >/dev/null 2>&1 &
exit 0; fi`)
			n.trySaving(save.Hibernate)
			n.runsc = whole
			n.startAgent()
			if _, err := n.store.Get(request(save.Hibernate).Snapshot); err != nil {
				n.expectNothing()
				return
			}
			if _, err := n.store.Verify(t.Context(), request(save.Hibernate).Snapshot); err != nil || !n.pod.StandsStill() {
				t.Errorf("the snapshot: %v; the Pod goes on: %t", err, !n.pod.StandsStill())
			}
			if left := n.remains(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// trySaving runs an agent in a process of its own.
func (n *node) trySaving(mode save.Mode) error {
	n.t.Helper()
	return n.runAgent(map[string]any{"Request": request(mode)})
}

// runAgent runs an agent that does one thing.
func (n *node) runAgent(what map[string]any) error {
	n.t.Helper()
	return n.agentCommand(what).Run()
}

// agentCommand is an agent in a process of its own that does one thing.
func (n *node) agentCommand(what map[string]any) *exec.Cmd {
	n.t.Helper()
	what["Runsc"], what["Store"] = n.runsc, n.folder
	order, err := json.Marshal(what)
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentVariable+"="+string(order))
	return cmd
}

func (n *node) dieSaving(mode save.Mode) {
	n.t.Helper()
	n.expectKilled(n.trySaving(mode))
}

func (n *node) expectKilled(err error) {
	n.t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		n.t.Fatalf("the agent was not killed: %v", err)
	}
}
