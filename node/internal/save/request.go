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
}

// Check refuses what is not a name, and unknown modes.
func (r Request) Check() error {
	var err error
	if r.Mode != Hibernate && r.Mode != Snapshot {
		err = fmt.Errorf("mode is %q: it must be %s or %s", r.Mode, Hibernate, Snapshot)
	}
	return errors.Join(r.Snapshot.Check(), r.Source.Check(), err)
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
