package save

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/store"
)

const (
	// mostHold bounds how many seconds a Pod may stand still for copies of its disks.
	mostHold = 600
	// rememberFor is how long a release that was answered can be asked for again.
	rememberFor = 10 * time.Minute
)

// HoldEndedError means that the Pod did not stand still from its save until now, so that copies of its disks may be of
// another moment than its memory.
type HoldEndedError struct {
	Key store.Key
}

func (e *HoldEndedError) Error() string {
	return fmt.Sprintf("the Pod of snapshot %s/%s went on, or ended, since it was saved: its disks are not of that moment; delete the snapshot and make another one", e.Key.Namespace, e.Key.UID)
}

// holds are the Pods that stand still after their save, while their disks are copied.
type holds struct {
	mutex sync.Mutex
	// byPod has them by the UID of the Pod.
	byPod map[string]*hold
	// released has when the Pods of these snapshots went on as asked: the answer may be lost.
	released map[store.Key]time.Time
	// leaving is closed when the agent ends.
	leaving chan struct{}
	leave   sync.Once
}

type hold struct {
	request Request
	// intent is open and locked until the Pod goes on.
	intent *os.File
	// asked is closed when a caller wants the Pod to go on.
	asked chan struct{}
	ask   sync.Once
	// done is closed when the Pod goes on. StoodStill and err are set then.
	done       chan struct{}
	stoodStill bool
	err        error
}

func newHolds() *holds {
	return &holds{byPod: map[string]*hold{}, released: map[store.Key]time.Time{}, leaving: make(chan struct{})}
}

func (h *holds) find(key store.Key) *hold {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, one := range h.byPod {
		if one.request.Snapshot == key {
			return one
		}
	}
	return nil
}

func (h *holds) has(podUID string) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.byPod[podUID] != nil
}

func (h *holds) wasReleased(key store.Key) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	_, was := h.released[key]
	return was
}

func (h *holds) add(one *hold) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.byPod[one.request.Source.PodUID] = one
}

// remove forgets a hold, and remembers for a while that it ended as asked.
func (h *holds) remove(one *hold, now time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.byPod, one.request.Source.PodUID)
	for key, at := range h.released {
		if now.Sub(at) >= rememberFor {
			delete(h.released, key)
		}
	}
	if one.stoodStill && one.err == nil {
		h.released[one.request.Snapshot] = now
	}
}

func (h *holds) forget(key store.Key) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.released, key)
}

// hold keeps the Pod standing still after its save, until it is released or its time is over.
func (s *Saver) hold(request Request, intent *os.File) {
	one := &hold{request: request, intent: intent, asked: make(chan struct{}), done: make(chan struct{})}
	s.holds.add(one)
	s.jobs.Go(func() {
		defer close(one.done)
		timer := time.NewTimer(time.Duration(request.HoldSeconds) * time.Second)
		defer timer.Stop()
		select {
		case <-one.asked:
			one.stoodStill = s.standsStill(request.pod())
		case <-timer.C:
		case <-s.holds.leaving:
		case <-s.base.Done():
		}
		// A Pod that could not be resumed keeps its intent, and the next agent tries again.
		if one.err = s.resume(request.pod()); one.err == nil {
			s.forget(request.Source.PodUID)
		}
		_ = intent.Close()
		s.holds.remove(one, s.Now())
	})
}

// standsStill reports whether the Pod is still the paused one. A sandbox that ended meanwhile is another one, and runs.
func (s *Saver) standsStill(name runsc.PodName) bool {
	pod, err := s.Runsc.FindPod(context.WithoutCancel(s.base), name)
	return err == nil && pod.Status == runsc.Paused
}

// Release lets a Pod go on that stands still after its save. It returns a HoldEndedError if the Pod did not stand still all
// the time until now, and a BusyError while it is being saved. A repeated release gets the same answer for a while.
func (s *Saver) Release(ctx context.Context, key store.Key) error {
	if s.IsSaving(key) {
		return &BusyError{fmt.Sprintf("snapshot %s/%s is being saved", key.Namespace, key.UID)}
	}
	one := s.holds.find(key)
	if one == nil {
		if s.holds.wasReleased(key) {
			return nil
		}
		return &HoldEndedError{key}
	}
	if err := one.end(ctx); err != nil {
		return err
	}
	switch {
	case one.err != nil:
		return one.err
	case !one.stoodStill:
		return &HoldEndedError{key}
	}
	return nil
}

// EndHolds lets all Pods go on that stand still after their save, now and from now on: the agent ends.
func (s *Saver) EndHolds() { s.holds.leave.Do(func() { close(s.holds.leaving) }) }

// endHold lets the Pod of a snapshot go on that is to be deleted.
func (s *Saver) endHold(ctx context.Context, key store.Key) error {
	one := s.holds.find(key)
	if one != nil {
		if err := one.end(ctx); err != nil {
			return err
		}
	}
	s.holds.forget(key)
	return nil
}

// end asks for the end of the hold and waits for it.
func (h *hold) end(ctx context.Context) error {
	h.ask.Do(func() { close(h.asked) })
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
