// Package grants keeps which Pod may be restored from which snapshot. A snapshot is given to one Pod, and a Pod begins once,
// also across the death of the agent: every step is on the disk before anyone learns of it.
package grants

import (
	"errors"
	"fmt"
	"time"

	"sandlot.dev/node/internal/names"
	"sandlot.dev/node/internal/store"
)

// State says how far a restore has come.
type State string

const (
	// Announced means that the controller allows it and the shim has not asked.
	Announced State = "Announced"
	// Begun means that the shim has the folder.
	Begun State = "Begun"
	// Restored means that all containers of the Pod run.
	Restored State = "Restored"
	// Failed means that the Pod does not run, or never may begin.
	Failed State = "Failed"
)

// IsOver reports whether the state can no longer change.
func (s State) IsOver() bool { return s == Restored || s == Failed }

func (s State) isKnown() bool { return s == Announced || s == Begun || s.IsOver() }

// Request names a Pod and the snapshot that it shall go on from.
type Request struct {
	Namespace   string `json:"namespace"`
	PodName     string `json:"podName"`
	PodUID      string `json:"podUid"`
	SnapshotUID string `json:"snapshotUid"`
	// Only is OnlyFiles for a Pod that begins with the files of the snapshot and not with its memory. The shim does not know it.
	Only string `json:"only,omitempty"`
	// Spare is set for a Pod that no user waits for: one of a warm pool. The shim does not know it.
	Spare bool `json:"spare,omitempty"`
}

// OnlyFiles gives a Pod the files of a snapshot without its memory.
const OnlyFiles = "files"

// Check refuses names that are not those of Kubernetes objects.
func (r Request) Check() error {
	var only error
	if r.Only != "" && r.Only != OnlyFiles {
		only = fmt.Errorf("only is %q: it must be absent or %s", r.Only, OnlyFiles)
	}
	return errors.Join(
		only, r.Snapshot().Check(), names.CheckName("podName", r.PodName), names.CheckUID("podUid", r.PodUID),
	)
}

// Snapshot is the key of the snapshot: always one of the Pod's own namespace.
func (r Request) Snapshot() store.Key {
	return store.Key{Namespace: r.Namespace, UID: r.SnapshotUID}
}

// Grant is a restore that the controller announced.
type Grant struct {
	Request
	State   State  `json:"state"`
	Message string `json:"message,omitempty"`
	// ChangedAt is when it reached its state.
	ChangedAt time.Time `json:"changedAt"`
	// PodEnded is set when the controller withdraws a restore that has begun: its Pod is gone.
	PodEnded bool `json:"podEnded,omitempty"`
}

// leavesFilesTo reports whether another Pod may begin with the files of the snapshot although this one was to have its memory:
// the memory could not be restored, so this Pod does not run, or the Pod ended while it was restored.
func (g Grant) leavesFilesTo(asked Request) bool {
	isOver := g.State == Failed || g.State == Begun && g.PodEnded
	return isOver && g.Only == "" && asked.Only == OnlyFiles
}

// isOf reports whether the announcement is repeated. A claim may have taken the Pod from its warm pool meanwhile.
func (g Grant) isOf(asked Request) bool {
	asked.Spare = g.Spare
	return g.Request == asked
}

// isAskedBy compares with what the shim knows.
func (g Grant) isAskedBy(asked Request) bool {
	asked.Only, asked.Spare = g.Only, g.Spare
	return g.Request == asked
}

// Given is what a Pod begins with.
type Given struct {
	// Folder has the memory; empty: the Pod boots.
	Folder string
	// Direct is set if the memory is to be read past the page cache.
	Direct bool
	// Files are the tars with the files of containers, by container.
	Files map[string]string
}

// IsSpent reports whether memory may have come from the snapshot.
func (g Grant) IsSpent() bool { return g.State != Announced }

// UnknownError means that no restore of this Pod is announced: the agent has started again, or the grant was withdrawn.
type UnknownError struct {
	PodUID string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no restore of Pod %s is announced on this node: announce it", e.PodUID)
}

// ConflictError means that the snapshot is granted to another Pod, or the Pod has another snapshot.
type ConflictError struct {
	Asked Request
	Held  Grant
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("snapshot %s cannot be restored in Pod %s/%s (UID %s): snapshot %s is granted to Pod %s/%s (UID %s), state %s",
		e.Asked.SnapshotUID, e.Asked.Namespace, e.Asked.PodName, e.Asked.PodUID,
		e.Held.SnapshotUID, e.Held.Namespace, e.Held.PodName, e.Held.PodUID, e.Held.State)
}

// BegunError means that the restore cannot be withdrawn any more.
type BegunError struct {
	Held Grant
}

func (e *BegunError) Error() string {
	return fmt.Sprintf("the restore of Pod %s/%s has begun, state %s: delete the Pod", e.Held.Namespace, e.Held.PodName, e.Held.State)
}

// NotAnnouncedError means that the Pod may not begin.
type NotAnnouncedError struct {
	Asked Request
	Why   string
}

func (e *NotAnnouncedError) Error() string {
	return fmt.Sprintf("Pod %s/%s (UID %s) may not be restored from snapshot %s: %s",
		e.Asked.Namespace, e.Asked.PodName, e.Asked.PodUID, e.Asked.SnapshotUID, e.Why)
}

// AlreadyBegunError means that the Pod had its chance: a snapshot goes on once.
type AlreadyBegunError struct {
	Held Grant
}

func (e *AlreadyBegunError) Error() string {
	return fmt.Sprintf("the restore of Pod %s/%s was begun before, state %s, and is not repeated: delete the Pod", e.Held.Namespace, e.Held.PodName, e.Held.State)
}

// OutcomeError means that an end contradicts the record of the restore.
type OutcomeError struct {
	Held Grant
}

func (e *OutcomeError) Error() string {
	return fmt.Sprintf("the restore of Pod %s/%s is in state %s, so it cannot end this way", e.Held.Namespace, e.Held.PodName, e.Held.State)
}
