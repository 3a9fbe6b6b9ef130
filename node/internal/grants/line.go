package grants

import (
	"context"
	"fmt"
	"time"
)

const (
	// counts is how long a restore that has begun keeps others waiting: a shim that died does not report its end.
	counts = 2 * time.Minute
	// spareWait is how long Pods of claims overtake one of a warm pool.
	spareWait = 30 * time.Second
	// lookAgain is how often Pods in line look at the clock, which changes who is next without any other change.
	lookAgain = time.Second
)

// FullError means that the Pod was announced, and that others were restored all the time that it waited for its turn.
type FullError struct {
	Asked Request
	Most  int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("Pod %s/%s (UID %s) waits for its turn: this node restores %d Pods at a time; ask again",
		e.Asked.Namespace, e.Asked.PodName, e.Asked.PodUID, e.Most)
}

// waiter is a Pod that asks to begin.
type waiter struct {
	podUID string
	// isAnnounced is set while only other Pods keep it from beginning.
	isAnnounced bool
	// number and since are of the moment at which it came into the line.
	number int
	since  time.Time
}

// isOvertaken reports whether Pods of claims begin first. That ends, so that a warm pool is filled also on a busy node.
func (l *Ledger) isOvertaken(w *waiter) bool {
	return l.grants[w.podUID].Spare && l.Now().Sub(w.since) < spareWait
}

func (l *Ledger) isBefore(w, other *waiter) bool {
	if l.isOvertaken(w) != l.isOvertaken(other) {
		return l.isOvertaken(other)
	}
	return w.number < other.number
}

// isNext reports whether the Pod may begin now; otherwise it is in the line.
func (l *Ledger) isNext(w *waiter) bool {
	if !l.line[w] {
		l.waiters++
		w.isAnnounced, w.number, w.since = true, l.waiters, l.Now()
		l.line[w] = true
	}
	free := l.MostRestores - l.countBegun()
	for other := range l.line {
		if other != w && l.isBefore(other, w) {
			free--
		}
	}
	return free > 0
}

// leave takes the Pod out of the line, if it is there.
func (l *Ledger) leave(w *waiter) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.stepOut(w)
}

func (l *Ledger) stepOut(w *waiter) {
	if l.line[w] {
		delete(l.line, w)
		l.wake()
	}
}

// waitInLine returns when another Pod may be next.
func waitInLine(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-time.After(lookAgain):
	case <-ctx.Done():
	}
}

func (l *Ledger) countBegun() int {
	count := 0
	for _, held := range l.grants {
		if held.State == Begun && l.Now().Sub(held.ChangedAt) < counts {
			count++
		}
	}
	return count
}

// CountWaiting returns how many Pods wait for the restores of others.
func (l *Ledger) CountWaiting() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.line)
}

// CountBegun returns how many restores are under way.
func (l *Ledger) CountBegun() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.countBegun()
}
