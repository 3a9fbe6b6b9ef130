package save_test

import (
	"errors"
	"strings"
	"testing"

	"sandlot.dev/node/internal/save"
)

// When gVisor's command is killed in the middle of a save, the Pod goes on, the store has nothing, and the next save works,
// although the sandbox itself may still write what the dead command asked for.
func TestPodGoesOnAfterTheDeathOfACheckpoint(t *testing.T) {
	for name, script := range map[string]string{
		"before it asks": `if [ $verb = checkpoint ]; then kill -9 $$; fi`,
		"at work":        `if [ $verb = checkpoint ]; then killInTheMiddle "$@"; fi`,
		"after its end":  `if [ $verb = checkpoint ]; then run "$@"; kill -9 $$; fi`,
		"and of the first resume": `case $verb in checkpoint) killInTheMiddle "$@" ;;
			resume) if [ ! -e "$0.once" ]; then touch "$0.once"; kill -9 $$; fi ;; esac`,
		"and of a resume after its end": `case $verb in checkpoint) kill -9 $$ ;; resume) run "$@"; kill -9 $$ ;; esac`,
	} {
		for _, wanted := range []save.Request{request(save.Hibernate), request(save.Snapshot), held(long)} {
			// A snapshot is saved without pause and resume.
			if wanted.Mode == save.Snapshot && wanted.HoldSeconds == 0 && strings.Contains(script, "resume") {
				continue
			}
			t.Run(name+", "+string(wanted.Mode), func(t *testing.T) {
				n := newNode(t)
				n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of="+memoryFile+" bs=1M count=32")
				whole := n.runsc
				n.wrap(script)
				n.startAgent()
				if m, err := n.saver.Save(t.Context(), wanted); err == nil {
					t.Fatalf("got %+v", m)
				}
				n.expectNothing()
				n.store.Close()
				n.runsc = whole
				n.startAgent()
				m, err := n.saver.Save(t.Context(), wanted)
				if err != nil {
					t.Fatalf("the next save: %v", err)
				}
				if _, err := n.store.Verify(t.Context(), m.Key); err != nil {
					t.Errorf("the next save: %v", err)
				}
			})
		}
	}
}

// The record of a sandbox whose pause was killed may say that it runs although it stands still, and then nothing wakes it.
func TestKilledPauseIsReported(t *testing.T) {
	for name, script := range map[string]string{
		"before it asks": `if [ $verb = pause ]; then kill -9 $$; fi`,
		"after its end":  `if [ $verb = pause ]; then run "$@"; kill -9 $$; fi`,
	} {
		n := newNode(t)
		n.wrap(script)
		n.startAgent()
		var stuck *save.StuckError
		if _, err := n.saver.Save(t.Context(), request(save.Hibernate)); !errors.As(err, &stuck) {
			t.Errorf("%s: got %v", name, err)
		}
		n.pod.GoesOn()
	}
}
