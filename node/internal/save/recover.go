package save

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/store"
)

// StuckError means that a Pod may stand still after a save that failed.
type StuckError struct {
	Pod runsc.PodName
	Err error
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("Pod %s/%s may stand still: delete it, or start the agent again: %v", e.Pod.Namespace, e.Pod.Name, e.Err)
}

func (e *StuckError) Unwrap() error { return e.Err }

// Recover resumes every Pod that an earlier agent left paused for a save that it did not finish. A Pod whose hibernation
// was finished stays paused: it waits for its deletion. One that was held for copies of its disks goes on. It returns the Pods that may still stand still.
func (s *Saver) Recover(ctx context.Context) error {
	requests, errs := s.intents.list()
	for _, request := range requests {
		if err := s.recoverOne(ctx, request); err != nil {
			errs = append(errs, err)
		}
	}
	// Only now no process of an earlier agent writes any more.
	return errors.Join(append(errs, s.Store.RemoveRemains())...)
}

func (s *Saver) recoverOne(ctx context.Context, request Request) error {
	ctx, cancel := context.WithTimeout(ctx, s.ResumeLimit)
	defer cancel()
	if err := s.intents.waitForHolders(ctx, request.Source.PodUID); err != nil {
		return err
	}
	switch _, err := s.Store.Get(request.Snapshot); {
	case request.holds():
		// Only its earlier agent knew how long the Pod was to stand still.
		if err := s.resume(request.pod()); err != nil {
			return err
		}
		return s.intents.remove(request.Source.PodUID)
	case err == nil:
		return s.intents.remove(request.Source.PodUID)
	case !errors.Is(err, store.ErrAbsent):
		slog.Error("a snapshot is damaged, so its Pod goes on", "snapshot", request.Snapshot.UID, "error", err.Error())
	}
	// gVisor itself lets a Pod go on that was saved without a pause.
	if request.Mode == Hibernate {
		if err := s.wake(request); err != nil {
			return err
		}
	}
	return s.intents.remove(request.Source.PodUID)
}

// The tries of a resume. A Pod whose sandbox was killed counts as paused until containerd deletes it.
const (
	resumeTries = 10
	resumePause = 200 * time.Millisecond
)

// resume lets the Pod go on. It does so also while the agent ends, and succeeds if the Pod has ended or was not paused.
func (s *Saver) resume(name runsc.PodName) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.base), s.ResumeLimit)
	defer cancel()
	for try := 1; ; try++ {
		err := s.tryResume(ctx, name)
		if err == nil || try == resumeTries || ctx.Err() != nil {
			return err
		}
		time.Sleep(resumePause)
	}
}

func (s *Saver) tryResume(ctx context.Context, name runsc.PodName) error {
	pod, err := s.Runsc.FindSandbox(ctx, name)
	var absent *runsc.AbsentError
	if errors.As(err, &absent) {
		return nil
	}
	if err == nil && pod.Status == runsc.Paused {
		err = s.Runsc.Resume(ctx, pod.Sandbox)
	}
	if err != nil {
		return &StuckError{name, err}
	}
	return nil
}
