package save

import (
	"errors"
	"fmt"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/store"
)

// Mode says what becomes of the Pod.
type Mode string

const (
	// Hibernate freezes the Pod until it is deleted, so that its disks and its memory agree.
	Hibernate Mode = "Hibernate"
	// Snapshot lets the Pod go on after the save.
	Snapshot Mode = "Snapshot"
)

// Request asks for a snapshot of a Pod.
type Request struct {
	Snapshot store.Key    `json:"snapshot"`
	Source   store.Source `json:"source"`
	Mode     Mode         `json:"mode"`
	// MostBytes is what the snapshot may have; nil: any size.
	MostBytes *int64 `json:"mostBytes,omitempty"`
}

// Check refuses what is not a name, unknown modes, and a negative size.
func (r Request) Check() error {
	var errs []error
	if r.Mode != Hibernate && r.Mode != Snapshot {
		errs = append(errs, fmt.Errorf("mode is %q: it must be %s or %s", r.Mode, Hibernate, Snapshot))
	}
	if r.MostBytes != nil && *r.MostBytes < 0 {
		errs = append(errs, fmt.Errorf("mostBytes is %d: it must not be negative", *r.MostBytes))
	}
	return errors.Join(append(errs, r.Snapshot.Check(), r.Source.Check())...)
}

// asksForTheSame reports whether both want the same snapshot. What a quota has left changes from request to request.
func (r Request) asksForTheSame(other Request) bool {
	r.MostBytes, other.MostBytes = nil, nil
	return r == other
}

// checkQuota returns a QuotaError if the snapshot would have more bytes than it may.
func (r Request) checkQuota(bytes int64) error {
	if r.MostBytes != nil && bytes > *r.MostBytes {
		return &QuotaError{Pod: r.pod(), Bytes: bytes, MostBytes: *r.MostBytes}
	}
	return nil
}

func (r Request) pod() runsc.PodName {
	return runsc.PodName{Namespace: r.Snapshot.Namespace, Name: r.Source.PodName, UID: r.Source.PodUID}
}

// BusyError means that the request can be repeated later.
type BusyError struct {
	Why string
}

func (e *BusyError) Error() string { return e.Why + ": ask again later" }

// ConflictError means that the snapshot is, or becomes, that of another Pod or mode.
type ConflictError struct {
	Key store.Key
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("snapshot %s/%s is already one of another Pod or mode: use a new SandboxSnapshot", e.Key.Namespace, e.Key.UID)
}

// QuotaError means that a snapshot would have more bytes than the quota of its namespace has left.
type QuotaError struct {
	Pod              runsc.PodName
	Bytes, MostBytes int64
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("a snapshot of Pod %s/%s has %d bytes and the quota of the namespace has %d left: delete snapshots, or raise the quota of the SandboxSnapshotClass",
		e.Pod.Namespace, e.Pod.Name, e.Bytes, e.MostBytes)
}
