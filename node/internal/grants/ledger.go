package grants

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/store"
)

// mostMessage bounds what the shim may leave as a reason.
const mostMessage = 1 << 10

// Ledger has the grants of one node.
type Ledger struct {
	Options
	disk *disk

	mutex  sync.Mutex
	grants map[string]Grant
	// arriving counts the snapshots that are on their way, by namespace.
	arriving map[string]int
	// line has the Pods that are announced and wait for the restores of others. Waiters counts those that were ever in it.
	line    map[*waiter]bool
	waiters int
	// changed is closed, and replaced, whenever a grant changes.
	changed chan struct{}
}

// Options are what a Ledger works with.
type Options struct {
	// Folder survives the agent.
	Folder string
	Store  *store.Store
	// Machine describes this node.
	Machine func(context.Context) (fingerprint.Fingerprint, error)
	// BeginLimit bounds how long a Pod waits for its announcement.
	BeginLimit time.Duration
	// MostBeginLimit bounds it while a snapshot is on its way into the Pod's namespace, and ArrivalGrace longer.
	MostBeginLimit, ArrivalGrace time.Duration
	// DirectReads has Pods read their memory past the page cache, unless it is there already. On a node with few processors,
	// filling the page cache takes them from the Pod that starts.
	DirectReads bool
	// MostRestores run at the same time. Others wait for MostBeginLimit at most.
	MostRestores int
	// KeepFor is how long the outcome of a restore can be asked for after its snapshot is gone.
	KeepFor time.Duration
	Now     func() time.Time
	// Observe learns of each change of state, after it is on the disk, with the grant before it.
	Observe func(before, after Grant)
}

// Open reads the grants of earlier agents.
func Open(options Options) (*Ledger, error) {
	disk, err := openDisk(options.Folder)
	if err != nil {
		return nil, err
	}
	grants, err := disk.load()
	if err != nil {
		return nil, errors.Join(err, disk.root.Close())
	}
	return &Ledger{Options: options, disk: disk, grants: grants, arriving: map[string]int{}, line: map[*waiter]bool{}, changed: make(chan struct{})}, nil
}

// Close ends the use of the folder.
func (l *Ledger) Close() error { return l.disk.root.Close() }

// Announce allows the Pod to begin, once. A repeated request returns the grant as it is. It returns store.ErrAbsent or a
// ConflictError. The grant of a snapshot that this node cannot restore has failed at once.
func (l *Ledger) Announce(ctx context.Context, request Request) (Grant, error) {
	if err := request.Check(); err != nil {
		return Grant{}, err
	}
	// The controller takes any error for the end of the restore, also that of an agent that ends.
	machine, err := l.Machine(context.WithoutCancel(ctx))
	if err != nil {
		return Grant{}, err
	}
	// Other Pods begin while the content is read.
	obstacle, err := l.findObstacle(ctx, request, machine)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, held := range l.grants {
		switch {
		case held.isOf(request):
			return l.repeat(held, request)
		case held.PodUID == request.PodUID || held.Snapshot() == request.Snapshot() && !held.leavesFilesTo(request):
			return Grant{}, &ConflictError{request, held}
		}
	}
	if err != nil {
		return Grant{}, err
	}
	if obstacle != "" {
		return l.change(Grant{Request: request, State: Failed, Message: obstacle})
	}
	return l.change(Grant{Request: request, State: Announced})
}

// repeat keeps the grant as it is, but a Pod that a claim has taken from its warm pool meanwhile is no spare one any more.
func (l *Ledger) repeat(held Grant, request Request) (Grant, error) {
	if held.State != Announced || held.Spare == request.Spare {
		return held, nil
	}
	return l.change(Grant{Request: request, State: Announced})
}

// findObstacle says why the snapshot can never be restored here; empty: it can. Files need no machine of a kind.
func (l *Ledger) findObstacle(ctx context.Context, request Request, machine fingerprint.Fingerprint) (string, error) {
	manifest, err := l.check(context.WithoutCancel(ctx), request)
	var damaged *store.DamagedError
	switch {
	case errors.As(err, &damaged):
		return damaged.Error(), nil
	case err != nil:
		return "", err
	case request.Only == OnlyFiles && !manifest.HasFiles:
		return "the files of its containers were not kept", nil
	case request.Only == OnlyFiles:
		return "", nil
	case manifest.Contents == store.ContentsFiles:
		return "only the files of its containers were saved, and no memory", nil
	}
	return manifest.Machine.ExplainMismatch(machine), nil
}

// check compares what the Pod would begin with. Files are there also when the memory beside them is damaged.
func (l *Ledger) check(ctx context.Context, request Request) (store.Manifest, error) {
	if request.Only == OnlyFiles {
		return l.Store.Get(request.Snapshot())
	}
	return l.Store.VerifyKernel(ctx, request.Snapshot())
}

// Withdraw forgets an announcement, because its Pod is gone. It succeeds if there is none, and returns a BegunError if the Pod
// has begun; the next Pod may then have the files. A grant that failed before the Pod could begin stays: the Pod may still ask.
func (l *Ledger) Withdraw(podUID string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	held, isKnown := l.grants[podUID]
	if !isKnown {
		return nil
	}
	if held.State == Begun && !held.PodEnded {
		held.PodEnded = true
		if _, err := l.change(held); err != nil {
			return err
		}
	}
	if held.IsSpent() {
		return &BegunError{held}
	}
	return l.forget(podUID)
}

// Begin lets the Pod have its snapshot and returns what it begins with. It waits for the announcement, and for its turn. It
// returns a NotAnnouncedError, a FullError or an AlreadyBegunError, and the context's error if the caller or the agent gave up.
func (l *Ledger) Begin(ctx context.Context, request Request) (Given, error) {
	if err := request.Check(); err != nil {
		return Given{}, err
	}
	most, end := context.WithTimeout(ctx, max(l.BeginLimit, l.MostBeginLimit))
	defer end()
	limit := time.NewTimer(l.BeginLimit)
	defer limit.Stop()
	began, w := l.Now(), &waiter{podUID: request.PodUID}
	defer l.leave(w)
	for p := (&patience{ledger: l, namespace: request.Namespace, most: most, limit: limit}); ; {
		given, changed, err := l.tryBegin(most, request, w)
		if changed == nil {
			return given, err
		}
		switch {
		case ctx.Err() != nil:
			return Given{}, ctx.Err()
		case w.isAnnounced && most.Err() != nil:
			return Given{}, &FullError{request, l.MostRestores}
		case w.isAnnounced:
			waitInLine(most, changed)
			continue
		case p.isAtItsEnd():
			return Given{}, &NotAnnouncedError{request, fmt.Sprintf("the controller did not announce it within %s", l.Now().Sub(began).Round(time.Second))}
		}
		p.wait(changed)
	}
}

// tryBegin returns what to wait for if the Pod may not begin yet.
func (l *Ledger) tryBegin(ctx context.Context, request Request, w *waiter) (Given, <-chan struct{}, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	held, isKnown := l.grants[request.PodUID]
	switch {
	case ctx.Err() != nil:
		return Given{}, l.changed, nil
	case !isKnown:
		w.isAnnounced = false
		l.stepOut(w)
		return Given{}, l.changed, nil
	case !held.isAskedBy(request):
		return Given{}, nil, &NotAnnouncedError{request, "this Pod UID is announced with another name or snapshot"}
	case held.State == Begun:
		return Given{}, nil, l.giveUp(held)
	case held.State != Announced:
		return Given{}, nil, &AlreadyBegunError{held}
	case l.isSpentFor(held.Request):
		// Only a record that an earlier agent could not write or remove leaves two announcements of one snapshot.
		return Given{}, nil, &NotAnnouncedError{request, "another Pod began with this snapshot"}
	}
	manifest, err := l.Store.Get(request.Snapshot())
	if err != nil {
		return Given{}, nil, &NotAnnouncedError{request, err.Error()}
	}
	if !l.isNext(w) {
		return Given{}, l.changed, nil
	}
	delete(l.line, w)
	held.State = Begun
	_, err = l.change(held)
	return l.give(held, manifest), nil, err
}

func (l *Ledger) give(held Grant, manifest store.Manifest) Given {
	folder := l.Store.Path(held.Snapshot())
	if held.Only != OnlyFiles {
		// Other Pods may read the pages of a copy as well, so they are worth a place in the page cache.
		isDirect := l.DirectReads && manifest.CopyOf == "" && !l.Store.HasCached(held.Snapshot())
		return Given{Folder: folder, Direct: isDirect}
	}
	given := Given{Files: manifest.FilesOf()}
	for container, name := range given.Files {
		given.Files[container] = filepath.Join(folder, name)
	}
	return given
}

// giveUp ends a restore whose Pod asks again: the kubelet makes another sandbox when the first is gone, so the shim that began
// died and will not report. Without this the controller would wait for the report until its patience ends.
func (l *Ledger) giveUp(held Grant) error {
	held.State, held.Message = Failed, "its sandbox ended before the restore did, for instance because its shim was killed"
	if _, err := l.change(held); err != nil {
		return err
	}
	return &AlreadyBegunError{held}
}

// End records how the restore of a Pod ended. The same end may be repeated. It returns an UnknownError or an OutcomeError.
func (l *Ledger) End(podUID string, restored bool, message string) error {
	state := Failed
	if restored {
		state = Restored
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	held, isKnown := l.grants[podUID]
	switch {
	case !isKnown:
		return &UnknownError{podUID}
	case held.State == state:
		return nil
	case held.State != Begun:
		return &OutcomeError{held}
	}
	held.State, held.Message = state, cut(message)
	_, err := l.change(held)
	return err
}

func cut(message string) string {
	return string([]rune(message)[:min(len([]rune(message)), mostMessage)])
}

// Wait returns the grant of the Pod as soon as its restore is over, and as it is when the context ends. It returns an
// UnknownError.
func (l *Ledger) Wait(ctx context.Context, podUID string) (Grant, error) {
	for {
		l.mutex.Lock()
		held, isKnown := l.grants[podUID]
		changed := l.changed
		l.mutex.Unlock()
		if !isKnown {
			return Grant{}, &UnknownError{podUID}
		}
		if held.State.IsOver() || ctx.Err() != nil {
			return held, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// IsSpent reports whether some Pod began with the snapshot.
func (l *Ledger) IsSpent(key store.Key) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.isSpent(key)
}

func (l *Ledger) isSpent(key store.Key) bool {
	return l.isSpentFor(Request{Namespace: key.Namespace, SnapshotUID: key.UID})
}

// isSpentFor reports whether a Pod began with what is asked for.
func (l *Ledger) isSpentFor(asked Request) bool {
	for _, held := range l.grants {
		if held.Snapshot() == asked.Snapshot() && held.IsSpent() && !held.leavesFilesTo(asked) {
			return true
		}
	}
	return false
}

// Prune forgets grants whose snapshot is gone and that did not change for KeepFor. Without its snapshot a grant protects
// nothing: no Pod can be announced or begin with it.
func (l *Ledger) Prune() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var errs []error
	for podUID, held := range l.grants {
		if l.Now().Sub(held.ChangedAt) < l.KeepFor {
			continue
		}
		if _, err := l.Store.Get(held.Snapshot()); errors.Is(err, store.ErrAbsent) {
			errs = append(errs, l.forget(podUID))
		}
	}
	return errors.Join(errs...)
}

// change writes the grant to the disk and then to memory. If it cannot be written, nothing was given away.
func (l *Ledger) change(g Grant) (Grant, error) {
	g.ChangedAt = l.Now().UTC()
	if err := l.disk.write(g); err != nil {
		return Grant{}, fmt.Errorf("the restore of Pod %s/%s cannot be recorded, so it does not become %s: %w", g.Namespace, g.PodName, g.State, err)
	}
	before := l.grants[g.PodUID]
	l.grants[g.PodUID] = g
	l.wake()
	if l.Observe != nil {
		l.Observe(before, g)
	}
	return g, nil
}

func (l *Ledger) forget(podUID string) error {
	if err := l.disk.remove(podUID); err != nil {
		return err
	}
	delete(l.grants, podUID)
	l.wake()
	return nil
}

func (l *Ledger) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}
