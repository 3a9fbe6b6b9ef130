package store

import (
	"errors"
	"fmt"
)

// ErrAbsent means that the store has no finished snapshot of this name.
var ErrAbsent = errors.New("the store has no such snapshot")

// ErrOwned means that another process uses the store.
var ErrOwned = errors.New("another agent uses the store: end it first")

// DamagedError means that a snapshot cannot be used any more.
type DamagedError struct {
	Key Key
	Why string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("snapshot %s/%s is damaged: %s; delete it and start the sandbox without it", e.Key.Namespace, e.Key.UID, e.Why)
}

// NoSpaceError means that a save would fill the disk. Tenants read it, so it names no folder of the node.
type NoSpaceError struct {
	FreeBytes, WantedBytes int64
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("the node's disk of snapshots has %d MiB free and a save needs %d MiB: delete snapshots, lower their retention, or give the node a larger disk",
		e.FreeBytes>>20, (e.WantedBytes+1<<20-1)>>20)
}

// NotSharedError means that a snapshot may not be copied.
type NotSharedError struct {
	Key Key
	Why string
}

func (e *NotSharedError) Error() string {
	return fmt.Sprintf("snapshot %s/%s cannot be copied: %s; copy one that was saved with whenSaved Resume", e.Key.Namespace, e.Key.UID, e.Why)
}

// TakenError means that the name of a copy is that of another snapshot.
type TakenError struct {
	Key    Key
	CopyOf string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("snapshot %s/%s is there already and is no copy of %s: use a new SandboxSnapshot", e.Key.Namespace, e.Key.UID, e.CopyOf)
}
