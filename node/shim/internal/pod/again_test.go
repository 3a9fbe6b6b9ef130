package pod

import (
	"os"
	"testing"
	"time"

	"sandlot.dev/node/shim/internal/agent"
)

func newBegun(t *testing.T, hasAgent bool) container {
	t.Helper()
	c := container{id: "pause-1", sandbox: "pause-1", logs: t.TempDir(), restore: agent.Restore{PodUID: "0f8fad5b-d9cb-469f-a165-70867728950e"}}
	if err := c.markBegun(hasAgent); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c container) expectWait(t *testing.T, want bool) {
	t.Helper()
	if waits, err := c.waitsForAgent(); err != nil || waits != want {
		t.Errorf("the start waits for an agent: %v, %v; want %v", waits, err, want)
	}
}

func TestPodThatBeganBesideAnAgentWaitsForOneForAWhile(t *testing.T) {
	c := newBegun(t, true)
	c.expectWait(t, true)
	for ago, want := range map[time.Duration]bool{absenceLimit - time.Minute: true, absenceLimit: false} {
		then := time.Now().Add(-ago)
		if err := os.Chtimes(c.missesAgentFile(), then, then); err != nil {
			t.Fatal(err)
		}
		c.expectWait(t, want)
	}
	// The next absence is another one.
	for range 2 {
		if err := c.stopWaiting(); err != nil {
			t.Fatal(err)
		}
	}
	c.expectWait(t, true)
}

func TestPodOfANodeWithoutAnAgentWaitsForNone(t *testing.T) {
	newBegun(t, false).expectWait(t, false)
}
