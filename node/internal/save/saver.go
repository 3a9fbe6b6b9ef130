// Package save makes snapshots of running Pods. Whatever fails, and wherever the agent dies, the Pod goes on and the store
// has either a whole snapshot or none.
package save

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/store"
)

// Saver saves the Pods of one node.
type Saver struct {
	Options
	intents *intents
	// base ends with the agent. A save belongs to it and not to its caller, whose connection may break.
	base context.Context

	mutex sync.Mutex
	// running has the saves in progress by the UID of the Pod.
	running map[string]*job
	jobs    sync.WaitGroup
}

// Options are what a Saver works with.
type Options struct {
	Runsc   runsc.Runsc
	Store   *store.Store
	Machine fingerprint.Fingerprint
	// IntentFolder survives the agent.
	IntentFolder string
	// MostSaves run at the same time.
	MostSaves int
	// WantedBytes is what the disk must have for each save.
	WantedBytes int64
	// ResumeLimit bounds how long a Pod that stands still may wait for an earlier runsc.
	ResumeLimit time.Duration
	Now         func() time.Time
}

type job struct {
	request  Request
	done     chan struct{}
	manifest store.Manifest
	err      error
}

// New makes a Saver. Recover must run before the first Save. Base ends all saves.
func New(base context.Context, options Options) (*Saver, error) {
	intents, err := openIntents(options.IntentFolder)
	if err != nil {
		return nil, err
	}
	return &Saver{Options: options, intents: intents, base: base, running: map[string]*job{}}, nil
}

// Save returns the manifest of the finished snapshot. A repeated request joins the save in progress, or gets the manifest
// of the finished one. A caller that gives up does not end the save. It returns a BusyError, a ConflictError, a
// store.NoSpaceError or a runsc.AbsentError if the Pod was not touched.
func (s *Saver) Save(ctx context.Context, request Request) (store.Manifest, error) {
	if err := request.Check(); err != nil {
		return store.Manifest{}, err
	}
	j, err := s.join(request)
	if err != nil {
		return store.Manifest{}, err
	}
	select {
	case <-j.done:
		return j.manifest, j.err
	case <-ctx.Done():
		return store.Manifest{}, ctx.Err()
	}
}

// IsSaving reports whether a save of this snapshot is in progress.
func (s *Saver) IsSaving(key store.Key) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, j := range s.running {
		if j.request.Snapshot == key {
			return true
		}
	}
	return false
}

// Wait returns when no save is in progress.
func (s *Saver) Wait() { s.jobs.Wait() }

// join returns the save of the request: one in progress, a finished one, or a new one.
func (s *Saver) join(request Request) (*job, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, j := range s.running {
		if j.request.Snapshot != request.Snapshot {
			continue
		}
		if j.request != request {
			return nil, &ConflictError{request.Snapshot}
		}
		return j, nil
	}
	switch m, err := s.Store.Get(request.Snapshot); {
	case err == nil && (m.Source != request.Source || m.Mode != string(request.Mode)):
		return nil, &ConflictError{request.Snapshot}
	case err == nil:
		return finished(request, m), nil
	case !errors.Is(err, store.ErrAbsent):
		return nil, err
	}
	if other, isBusy := s.running[request.Source.PodUID]; isBusy {
		return nil, &BusyError{fmt.Sprintf("Pod %s is being saved as %s", request.Source.PodName, other.request.Snapshot.UID)}
	}
	if len(s.running) >= s.MostSaves {
		return nil, &BusyError{fmt.Sprintf("this node saves %d Pods already", len(s.running))}
	}
	return s.start(request), nil
}

func finished(request Request, m store.Manifest) *job {
	j := &job{request: request, done: make(chan struct{}), manifest: m}
	close(j.done)
	return j
}

func (s *Saver) start(request Request) *job {
	j := &job{request: request, done: make(chan struct{})}
	s.running[request.Source.PodUID] = j
	s.jobs.Go(func() {
		j.manifest, j.err = s.save(request)
		s.mutex.Lock()
		delete(s.running, request.Source.PodUID)
		s.mutex.Unlock()
		close(j.done)
	})
	return j
}

func (s *Saver) save(request Request) (store.Manifest, error) {
	pod, err := s.Runsc.FindPod(s.base, request.pod())
	if err != nil {
		return store.Manifest{}, err
	}
	if pod.Status != runsc.Running {
		return store.Manifest{}, fmt.Errorf("Pod %s/%s is %s and not running: something else holds it", pod.Namespace, pod.Name, pod.Status)
	}
	draft, err := s.Store.Begin(request.Snapshot, s.WantedBytes)
	if err != nil {
		return store.Manifest{}, err
	}
	manifest, err := s.fill(request, pod, draft)
	if err == nil {
		return manifest, nil
	}
	return store.Manifest{}, errors.Join(err, draft.Abandon())
}

// fill saves the Pod into the draft and makes it a snapshot. After an error the Pod goes on.
func (s *Saver) fill(request Request, pod runsc.Pod, draft *store.Draft) (store.Manifest, error) {
	held, err := s.intents.write(request)
	if err != nil {
		return store.Manifest{}, err
	}
	defer held.Close()
	err = s.write(request, pod, runsc.CheckpointOptions{Folder: draft.Path(), LeaveRunning: true, Held: held})
	var manifest store.Manifest
	if err == nil {
		manifest, err = draft.Finish(s.base, s.describe(request, pod))
	}
	if err != nil && request.Mode == Hibernate {
		err = errors.Join(err, s.resume(request.pod()))
	}
	// A Pod that could not be resumed keeps its intent, and the next agent tries again.
	var stuck *StuckError
	if errors.As(err, &stuck) {
		return store.Manifest{}, err
	}
	if forgetting := s.intents.remove(request.Source.PodUID); forgetting != nil {
		slog.Error("the intent of a save that has ended stays", "pod", request.Source.PodUID, "error", forgetting.Error())
	}
	return manifest, err
}

func (s *Saver) write(request Request, pod runsc.Pod, options runsc.CheckpointOptions) error {
	if request.Mode == Hibernate {
		// The end of the agent does not cut a pause short: its outcome would be unknown.
		if err := s.Runsc.Pause(context.WithoutCancel(s.base), pod.Sandbox, options.Held); err != nil {
			return err
		}
	}
	return s.Runsc.Checkpoint(s.base, pod.Sandbox, options)
}

func (s *Saver) describe(request Request, pod runsc.Pod) store.Manifest {
	return store.Manifest{
		Source:     request.Source,
		Mode:       string(request.Mode),
		Machine:    s.Machine,
		Containers: pod.Containers,
		SavedAt:    s.Now().UTC(),
	}
}
