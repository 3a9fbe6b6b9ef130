package save

import (
	"context"
	"errors"
	"fmt"

	"sandlot.dev/node/internal/store"
)

// ErrCancelled is the cause of a save that ended because its snapshot was deleted.
var ErrCancelled = errors.New("the save was cancelled because its snapshot was deleted")

// Delete ends a save of the snapshot in progress, removes the snapshot, and lets the Pod go on that stands still for it. It
// succeeds if there is no such snapshot. It returns a BusyError while it deletes the same snapshot already.
func (s *Saver) Delete(ctx context.Context, key store.Key) error {
	return s.delete(ctx, key, s.release)
}

// DeleteSpent does what Delete does, but a Pod that stands still for the snapshot never goes on: its sandbox did, on another
// node, which has the record of it.
func (s *Saver) DeleteSpent(ctx context.Context, key store.Key) error {
	return s.delete(ctx, key, s.retire)
}

// delete ends a save in progress, whose Pod goes on, and removes the snapshot: of a hibernation as given.
func (s *Saver) delete(ctx context.Context, key store.Key, hibernation func(Request) error) error {
	if err := key.Check(); err != nil {
		return err
	}
	if err := s.cancel(ctx, key); err != nil {
		return err
	}
	if err := s.endHold(ctx, key); err != nil {
		return err
	}
	manifest, err := s.Store.Get(key)
	if err != nil || manifest.Mode != string(Hibernate) {
		return s.Store.Delete(key)
	}
	request := Request{Snapshot: key, Source: manifest.Source, Mode: Hibernate}
	if err := s.reserve(request); err != nil {
		return err
	}
	defer func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.deleting, manifest.Source.PodUID)
	}()
	return hibernation(request)
}

// cancel ends the save of the snapshot and waits until its Pod goes on. A save that finishes at this moment leaves a snapshot.
func (s *Saver) cancel(ctx context.Context, key store.Key) error {
	s.mutex.Lock()
	var saving *job
	for _, j := range s.running {
		if j.request.Snapshot == key {
			saving = j
		}
	}
	s.mutex.Unlock()
	if saving == nil {
		return nil
	}
	saving.cancel(ErrCancelled)
	select {
	case <-saving.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release deletes a finished hibernation whose Pod may still stand still. The intent comes first: wherever the agent dies,
// its successor finds the snapshot, or an intent without a snapshot and resumes the Pod. The snapshot goes before the Pod
// goes on: no memory may be older than what its Pod wrote to its disks.
func (s *Saver) release(request Request) error {
	held, err := s.intents.write(request)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := s.Store.Delete(request.Snapshot); err != nil {
		return err
	}
	if err := s.wake(request); err != nil {
		return err
	}
	s.forget(request.Source.PodUID)
	return nil
}

// retire deletes a finished hibernation whose Pod never goes on. The record of that comes first, and an intent that an earlier
// agent left goes before the snapshot: no agent takes the Pod for one whose save failed.
func (s *Saver) retire(request Request) error {
	podUID := request.Source.PodUID
	if err := s.retired.add(podUID, s.Now()); err != nil {
		return err
	}
	if err := s.intents.remove(podUID); err != nil {
		return err
	}
	return s.Store.Delete(request.Snapshot)
}

// wake lets the Pod go on after the deletion of its hibernation, unless another Pod began with it: the sandbox would go on
// twice. From the deletion on no Pod can begin.
func (s *Saver) wake(request Request) error {
	isRetired, err := s.retired.has(request.Source.PodUID)
	if err != nil || isRetired || s.IsSpent(request.Snapshot) {
		return err
	}
	return s.resume(request.pod())
}

// reserve keeps saves away from the Pod, which share its intent.
func (s *Saver) reserve(request Request) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	podUID := request.Source.PodUID
	if s.deleting[podUID] || s.running[podUID] != nil || s.holds.has(podUID) {
		return &BusyError{fmt.Sprintf("Pod %s is being saved, held, or its hibernation deleted", request.Source.PodName)}
	}
	s.deleting[podUID] = true
	return nil
}
