package conns

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"sandlot.dev/egress/internal/rules"
)

var caller = netip.MustParseAddr("10.0.0.1")

type fakeConn struct{ closed atomic.Bool }

func (f *fakeConn) Close() error {
	f.closed.Store(true)
	return nil
}

func isThere(now *rules.Sandbox) bool { return now != nil }

func TestClosesWhatAChangeDoesNotHold(t *testing.T) {
	var now atomic.Pointer[rules.Sandbox]
	now.Store(&rules.Sandbox{})
	register := New(Limits{Open: 10, PerSecond: 10}, func(netip.Addr) *rules.Sandbox { return now.Load() })
	var held, lost fakeConn
	if _, err := register.Add(caller, &held, func(*rules.Sandbox) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := register.Add(caller, &lost, isThere); err != nil {
		t.Fatal(err)
	}
	now.Store(nil)
	if closed := register.RecheckAll(); closed != 1 || !lost.closed.Load() || held.closed.Load() || register.Open() != 1 {
		t.Errorf("%d closed, %d open", closed, register.Open())
	}
}

// The change comes between the decision over a connection and its registration.
func TestAConnectionThatMissedAChangeIsNotAdded(t *testing.T) {
	register := New(Limits{Open: 10, PerSecond: 10}, func(netip.Addr) *rules.Sandbox { return nil })
	if _, err := register.Add(caller, &fakeConn{}, isThere); !errors.Is(err, ErrChanged) || register.Open() != 0 {
		t.Errorf("%v, %d open", err, register.Open())
	}
}

func TestNoConnectionOutlivesAChangeThatRacesWithIt(t *testing.T) {
	for range 200 {
		var now atomic.Pointer[rules.Sandbox]
		now.Store(&rules.Sandbox{})
		register := New(Limits{Open: 100, PerSecond: 100}, func(netip.Addr) *rules.Sandbox { return now.Load() })
		conns := make([]fakeConn, 8)
		added := make([]bool, len(conns))
		var running sync.WaitGroup
		for index := range conns {
			running.Go(func() {
				_, err := register.Add(caller, &conns[index], isThere)
				added[index] = err == nil
			})
		}
		running.Go(func() {
			now.Store(nil)
			register.Recheck([]netip.Addr{caller})
		})
		running.Wait()
		for index := range conns {
			if added[index] && !conns[index].closed.Load() {
				t.Fatal("a connection stays open")
			}
		}
	}
}

func TestForgetsSourcesThatAreIdle(t *testing.T) {
	register := New(Limits{Open: 10, PerSecond: 1_000_000}, func(netip.Addr) *rules.Sandbox { return nil })
	if err := register.Admit(caller); err != nil {
		t.Fatal(err)
	}
	for range 1_000 {
		register.Sweep()
	}
	if known := len(register.sources); known != 0 {
		t.Errorf("it knows %d sources", known)
	}
}
