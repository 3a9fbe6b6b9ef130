package grants_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sandlot.dev/node/internal/grants"
)

// seconds are those of a clock that stands still while something works.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// startBegin lets the Pod ask on a node with the limits of the agent. The answer has the seconds that it took.
func startBegin(t *testing.T, n *node) <-chan any {
	t.Helper()
	n.limit = seconds(30)
	n.restart()
	began := time.Now()
	answer := make(chan any, 1)
	go func() {
		_, err := n.ledger.Begin(t.Context(), request())
		var result any
		if _, isRefused := errors.AsType[*grants.NotAnnouncedError](err); isRefused {
			result = "refused"
		} else if err != nil {
			result = err
		}
		answer <- []any{result, time.Since(began)}
	}()
	synctest.Wait()
	return answer
}

func expectAnswer(t *testing.T, answer <-chan any, what any, after time.Duration) {
	t.Helper()
	got := (<-answer).([]any)
	if got[0] != what || got[1] != after {
		t.Errorf("got %v; want %v after %s", got, what, after)
	}
}

func TestPodWaitsWhileASnapshotIsOnItsWay(t *testing.T) {
	for name, row := range map[string]struct {
		// from and to are when the snapshot is on its way; to 0: for ever. Announced is when it is announced; 0: never.
		from, to, announced int
		namespace           string
		want                any
		after               int
	}{
		"nothing is on its way":                        {namespace: "rival", to: 90, announced: 40, want: "refused", after: 30},
		"it is announced on its arrival":               {to: 90, announced: 91, after: 91},
		"it began to move after the Pod":               {from: 25, to: 80, announced: 80, after: 80},
		"it arrived before the Pod's usual wait ended": {to: 10, announced: 39, after: 39},
		"it arrived and is not announced":              {to: 10, want: "refused", after: 40},
		"it arrived long before":                       {to: 20, announced: 51, want: "refused", after: 50},
		"it never arrives":                             {want: "refused", after: 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				answer := startBegin(t, n)
				go func() {
					time.Sleep(seconds(row.from))
					arrived := n.ledger.Arrive("team" + row.namespace)
					if row.to > 0 {
						time.Sleep(seconds(row.to - row.from))
						arrived()
						arrived()
					}
				}()
				if row.announced > 0 {
					time.Sleep(seconds(row.announced))
					synctest.Wait()
					if row.want == nil {
						n.announce(request())
					}
				}
				expectAnswer(t, answer, row.want, seconds(row.after))
				// Timers of arrivals outlive the test otherwise.
				time.Sleep(seconds(200))
			})
		})
	}
}
