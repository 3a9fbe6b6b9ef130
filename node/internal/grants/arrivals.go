package grants

import (
	"context"
	"sync"
	"time"
)

// Arrive says that a snapshot is on its way into the namespace: until arrived is called, and ArrivalGrace longer, Pods of
// the namespace go on waiting for their announcement. The controller announces a restore once its snapshot is there. It is
// the namespace that counts, because a copy comes from a snapshot with another UID.
func (l *Ledger) Arrive(namespace string) (arrived func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.arriving[namespace]++
	return sync.OnceFunc(func() { time.AfterFunc(l.ArrivalGrace, func() { l.endArrival(namespace) }) })
}

func (l *Ledger) endArrival(namespace string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.arriving[namespace]--; l.arriving[namespace] == 0 {
		delete(l.arriving, namespace)
	}
	l.wake()
}

func (l *Ledger) isArriving(namespace string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.arriving[namespace] > 0
}

// patience is how long one Pod waits for its announcement.
type patience struct {
	ledger    *Ledger
	namespace string
	// most ends with the longest wait, limit with the usual one.
	most  context.Context
	limit *time.Timer
	// isOver is set after the usual wait.
	isOver bool
}

// isAtItsEnd reports whether the Pod waits no longer.
func (p *patience) isAtItsEnd() bool {
	return p.most.Err() != nil || p.isOver && !p.ledger.isArriving(p.namespace)
}

// wait returns when there is something to look at again.
func (p *patience) wait(changed <-chan struct{}) {
	select {
	case <-changed:
	case <-p.limit.C:
		p.isOver = true
	case <-p.most.Done():
	}
}
