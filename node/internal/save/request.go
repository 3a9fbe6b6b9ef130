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
	// Contents are empty, for memory, or store.ContentsFiles.
	Contents string `json:"contents,omitempty"`
	// KeepFiles asks for the files of the containers beside the memory. A save does not fail for want of them.
	KeepFiles bool `json:"keepFiles,omitempty"`
	// MostBytes is what the snapshot may have; nil: any size.
	MostBytes *int64 `json:"mostBytes,omitempty"`
	// HoldSeconds is how long the Pod of a Snapshot stands still after its save, if nothing releases it; 0: not at all.
	HoldSeconds int `json:"holdSeconds,omitempty"`
}

// Check refuses what is not a name, unknown modes, and numbers out of bounds.
func (r Request) Check() error {
	var errs []error
	if r.Mode != Hibernate && r.Mode != Snapshot {
		errs = append(errs, fmt.Errorf("mode is %q: it must be %s or %s", r.Mode, Hibernate, Snapshot))
	}
	if r.Contents != "" && r.Contents != store.ContentsFiles {
		errs = append(errs, fmt.Errorf("contents is %q: it must be absent or %s", r.Contents, store.ContentsFiles))
	}
	if r.MostBytes != nil && *r.MostBytes < 0 {
		errs = append(errs, fmt.Errorf("mostBytes is %d: it must not be negative", *r.MostBytes))
	}
	if r.HoldSeconds < 0 || r.HoldSeconds > mostHold {
		errs = append(errs, fmt.Errorf("holdSeconds is %d: it must be 0 to %d", r.HoldSeconds, mostHold))
	}
	if r.HoldSeconds > 0 && r.Mode == Hibernate {
		errs = append(errs, fmt.Errorf("holdSeconds is %d with mode %s, whose Pod stands still anyway: leave it out", r.HoldSeconds, Hibernate))
	}
	return errors.Join(append(errs, r.Snapshot.Check(), r.Source.Check())...)
}

// pauses reports whether the Pod stands still before it is saved, and until something resumes it.
func (r Request) pauses() bool { return r.Mode == Hibernate || r.holds() }

// keepsMemory reports whether the snapshot has the memory of the Pod.
func (r Request) keepsMemory() bool { return r.Contents != store.ContentsFiles }

// holds reports whether the Pod stands still after its save.
func (r Request) holds() bool { return r.HoldSeconds > 0 }

// asksForTheSame reports whether both want the same snapshot. What a quota has left changes from request to request, and what
// a class wants beside the memory may.
func (r Request) asksForTheSame(other Request) bool {
	r.MostBytes, other.MostBytes = nil, nil
	r.KeepFiles, other.KeepFiles = false, false
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

// ConflictError means that the snapshot is, or becomes, that of another Pod or mode, or with other contents.
type ConflictError struct {
	Key store.Key
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("snapshot %s/%s is already one of another Pod or mode, or with other contents: use a new SandboxSnapshot", e.Key.Namespace, e.Key.UID)
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
