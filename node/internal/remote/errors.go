package remote

import (
	"errors"
	"fmt"

	"sandlot.dev/node/internal/store"
)

// ErrCancelled is the cause of a transfer that ended because its snapshot was deleted, or the agent ends.
var ErrCancelled = errors.New("the transfer was cancelled because its snapshot was deleted, or the agent ends")

// ErrAbsent means that the bucket has no whole snapshot of this name.
var ErrAbsent = errors.New("the bucket has no such snapshot")

// RefusedError means that the bucket has something else than what was uploaded.
type RefusedError struct {
	Key store.Key
	Why string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("snapshot %s/%s of the bucket is refused: %s; upload it again from a node that has it, or delete it", e.Key.Namespace, e.Key.UID, e.Why)
}

// BusyError means that the request can be repeated later.
type BusyError struct {
	Why string
}

func (e *BusyError) Error() string { return e.Why + ": ask again later" }
