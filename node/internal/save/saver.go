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
	retired *retired
	holds   *holds
	flusher *flusher
	// base ends with the agent. A save belongs to it and not to its caller, whose connection may break.
	base context.Context

	mutex sync.Mutex
	// running has the saves in progress by the UID of the Pod.
	running map[string]*job
	// deleting has the Pods whose hibernation is being deleted.
	deleting map[string]bool
	jobs     sync.WaitGroup
}

// Options are what a Saver works with.
type Options struct {
	Runsc runsc.Runsc
	Store *store.Store
	// Machine describes this node.
	Machine func(context.Context) (fingerprint.Fingerprint, error)
	// IntentFolder survives the agent.
	IntentFolder string
	// MostSaves run at the same time.
	MostSaves int
	// SpareBytes is what the disk must have for each save beside the memory of the Pod: for the kernel's own state and for
	// files outside of volumes, whose sizes gVisor does not say.
	SpareBytes int64
	// MostFilesBytes is what the files of a container may have that are kept beside its memory. gVisor reads them into the memory
	// of the Pod that begins with them.
	MostFilesBytes int64
	// ResumeLimit bounds how long a Pod that stands still may wait for an earlier runsc.
	ResumeLimit time.Duration
	// Flush writes through to the disks what Pods wrote. FlushLimit bounds how long a Pod that runs waits for it.
	Flush      func()
	FlushLimit time.Duration
	// IsSpent reports whether a Pod began with the snapshot.
	IsSpent func(store.Key) bool
	Now     func() time.Time
	// Observe learns of each save that ends.
	Observe func(Outcome)
}

// Outcome is a save that ended. Its manifest is that of the snapshot if there is no error.
type Outcome struct {
	Request  Request
	Manifest store.Manifest
	Err      error
	Took     time.Duration
}

type job struct {
	request  Request
	cancel   context.CancelCauseFunc
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
	return &Saver{
		Options: options, intents: intents, retired: &retired{intents.root}, holds: newHolds(), base: base,
		flusher: &flusher{flush: options.Flush, limit: options.FlushLimit},
		running: map[string]*job{}, deleting: map[string]bool{},
	}, nil
}

// Save returns the manifest of the finished snapshot. A repeated request joins the save in progress, or gets the manifest
// of the finished one. A caller that gives up does not end the save. It returns a BusyError, a ConflictError, a
// store.NoSpaceError, a QuotaError or a runsc.AbsentError if the Pod was not touched, and a QuotaError also if only the save
// showed the size: then the Pod goes on.
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

// CountSaves returns how many saves are in progress.
func (s *Saver) CountSaves() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.running)
}

// Wait returns when no save is in progress and no Pod is held.
func (s *Saver) Wait() { s.jobs.Wait() }

// join returns the save of the request: one in progress, a finished one, or a new one.
func (s *Saver) join(request Request) (*job, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, j := range s.running {
		if j.request.Snapshot != request.Snapshot {
			continue
		}
		if !j.request.asksForTheSame(request) {
			return nil, &ConflictError{request.Snapshot}
		}
		return j, nil
	}
	switch m, err := s.Store.Get(request.Snapshot); {
	case err == nil && (m.Source != request.Source || m.Mode != string(request.Mode) || m.Contents != request.Contents || m.CopyOf != ""):
		return nil, &ConflictError{request.Snapshot}
	case err == nil:
		return finished(request, m), nil
	case !errors.Is(err, store.ErrAbsent):
		return nil, err
	}
	if other, isBusy := s.running[request.Source.PodUID]; isBusy {
		return nil, &BusyError{fmt.Sprintf("Pod %s is being saved as %s", request.Source.PodName, other.request.Snapshot.UID)}
	}
	if s.holds.has(request.Source.PodUID) {
		return nil, &BusyError{fmt.Sprintf("Pod %s stands still while its disks are copied", request.Source.PodName)}
	}
	if s.deleting[request.Source.PodUID] {
		return nil, &BusyError{fmt.Sprintf("a hibernation of Pod %s is being deleted", request.Source.PodName)}
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
	ctx, cancel := context.WithCancelCause(s.base)
	j := &job{request: request, cancel: cancel, done: make(chan struct{})}
	s.running[request.Source.PodUID] = j
	s.jobs.Go(func() {
		defer cancel(nil)
		began := s.Now()
		j.manifest, j.err = s.save(ctx, request)
		// Observed before the callers have their answer.
		if s.Observe != nil {
			s.Observe(Outcome{request, j.manifest, j.err, s.Now().Sub(began)})
		}
		s.mutex.Lock()
		delete(s.running, request.Source.PodUID)
		s.mutex.Unlock()
		close(j.done)
	})
	return j
}

func (s *Saver) save(ctx context.Context, request Request) (store.Manifest, error) {
	pod, err := s.Runsc.FindPod(ctx, request.pod())
	if err != nil {
		return store.Manifest{}, err
	}
	if pod.Status != runsc.Running {
		return store.Manifest{}, fmt.Errorf("Pod %s/%s is %s and not running: something else holds it", pod.Namespace, pod.Name, pod.Status)
	}
	manifest, err := s.describe(ctx, request, pod)
	if err != nil {
		return store.Manifest{}, err
	}
	used, err := s.Runsc.Usage(ctx, pod.Sandbox)
	if err != nil {
		return store.Manifest{}, err
	}
	if err := request.checkQuota(used); err != nil {
		return store.Manifest{}, err
	}
	draft, err := s.Store.Begin(request.Snapshot, used+s.SpareBytes)
	if err != nil {
		return store.Manifest{}, err
	}
	manifest, err = s.fill(ctx, savable{request, pod, manifest}, draft)
	if err == nil {
		return manifest, nil
	}
	return store.Manifest{}, errors.Join(err, draft.Abandon())
}

// savable is a Pod that can be saved, with the manifest of its snapshot as far as it is known.
type savable struct {
	request  Request
	pod      runsc.Pod
	manifest store.Manifest
}

// fill saves the Pod into the draft and makes it a snapshot. After an error the Pod goes on.
func (s *Saver) fill(ctx context.Context, what savable, draft *store.Draft) (store.Manifest, error) {
	request := what.request
	held, err := s.intents.write(request)
	if err != nil {
		return store.Manifest{}, err
	}
	manifest, err := s.finish(ctx, what, runsc.CheckpointOptions{Folder: draft.Path(), LeaveRunning: true, Held: held}, draft)
	if err == nil && request.holds() {
		s.hold(request, held)
		return manifest, nil
	}
	defer held.Close()
	if err != nil && request.pauses() {
		err = errors.Join(err, s.resume(request.pod()))
	}
	// A Pod that could not be resumed keeps its intent, and the next agent tries again.
	var stuck *StuckError
	if errors.As(err, &stuck) {
		return store.Manifest{}, err
	}
	s.forget(request.Source.PodUID)
	return manifest, err
}

// finish saves the Pod and makes the draft a snapshot.
func (s *Saver) finish(ctx context.Context, what savable, options runsc.CheckpointOptions, draft *store.Draft) (store.Manifest, error) {
	if err := s.write(ctx, what, options); err != nil {
		return store.Manifest{}, err
	}
	if what.request.holds() {
		// What the Pod wrote to its disks is on them before they are copied.
		s.Flush()
	}
	if err := s.addFiles(ctx, &what, filesTarget{draft, options.Held}); err != nil {
		return store.Manifest{}, err
	}
	if err := checkSize(what.request, draft); err != nil {
		return store.Manifest{}, err
	}
	what.manifest.SavedAt = s.Now().UTC()
	return draft.FinishIf(ctx, what.manifest, func() error { return s.checkAfterwards(ctx, what) })
}

// checkSize holds a save to its quota: gVisor's estimate lacks files outside of volumes, of which a sandbox can have any number.
func checkSize(request Request, draft *store.Draft) error {
	bytes, err := draft.Size()
	if err != nil {
		return err
	}
	return request.checkQuota(bytes)
}

func (s *Saver) forget(podUID string) {
	if err := s.intents.remove(podUID); err != nil {
		slog.Error("the intent of a save that has ended stays", "pod", podUID, "error", err.Error())
	}
}

func (s *Saver) write(ctx context.Context, what savable, options runsc.CheckpointOptions) error {
	if what.request.Mode == Snapshot && what.request.keepsMemory() {
		s.flusher.run(ctx)
	}
	if what.request.pauses() {
		// Nothing cuts a pause short: its outcome would be unknown.
		err := s.Runsc.Pause(context.WithoutCancel(ctx), what.pod.Sandbox, options.Held)
		if runsc.IsUnrecorded(err) {
			return &StuckError{what.pod.PodName, err}
		}
		if err != nil {
			return err
		}
	}
	if !what.request.keepsMemory() {
		return nil
	}
	if what.request.pauses() {
		if err := s.checkContainers(ctx, what.pod); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go endStalled(ctx, cancel, options.Folder)
	if err := s.Runsc.Checkpoint(ctx, what.pod.Sandbox, options); err != nil {
		return err
	}
	if err := runsc.CheckImage(options.Folder, what.pod.Containers); err != nil {
		return err
	}
	return s.checkAfterwards(ctx, what)
}

func (s *Saver) describe(ctx context.Context, request Request, pod runsc.Pod) (store.Manifest, error) {
	machine, err := s.Machine(ctx)
	return store.Manifest{
		Source:     request.Source,
		Mode:       string(request.Mode),
		Contents:   request.Contents,
		Machine:    machine,
		Containers: pod.Containers,
	}, err
}
