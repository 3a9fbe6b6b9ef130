// Package state holds the settings of /init: token, environment, default user and working directory. A file keeps
// them, so that a restarted container needs no new /init.
package state

import (
	"crypto/rand"
	"errors"
	"maps"
	"sync"
)

// Owner is whom settings are for.
type Owner struct {
	SandboxUID string `json:"sandboxUID,omitempty"`
	// PodUID is empty where the Pod does not name itself.
	PodUID string `json:"podUID,omitempty"`
}

// Settings are the settings of /init. A published value is never modified.
type Settings struct {
	Owner Owner `json:"owner"`
	// AccessToken is the token that requests must carry; empty: none is set.
	AccessToken string            `json:"accessToken,omitempty"`
	EnvVars     map[string]string `json:"envVars,omitempty"`
	DefaultUser string            `json:"defaultUser,omitempty"`
	Workdir     string            `json:"defaultWorkdir,omitempty"`
	// SandboxID and TemplateID are the ids by which clients know the sandbox; empty: no client of E2B made it.
	SandboxID  string `json:"sandboxID,omitempty"`
	TemplateID string `json:"templateID,omitempty"`
	// SaidAt is the timestamp of the last accepted body, in Unix nanoseconds; 0 if it had none.
	SaidAt int64 `json:"saidAt,omitempty"`
	// SignedAt is the timestamp of the last accepted signature, in Unix milliseconds. An older signature is a replay.
	SignedAt int64 `json:"signedAt,omitempty"`
	// Exec is whether the installation uses this sandbox through the agent-sandbox API; nil: unknown.
	Exec *bool `json:"exec,omitempty"`
	// EgressProof is the key by which this sandbox proves to the egress proxy who it is; empty: none was set.
	EgressProof []byte `json:"egressProof,omitempty"`
	// CABundle has the authorities that /init names for programs to trust, in PEM; empty: it named none.
	CABundle string `json:"caBundle,omitempty"`
	// Initialized means that /init was accepted at least once.
	Initialized bool `json:"initialized"`
}

// Store holds the current settings. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	current Settings
	file    *File
	retired bool
}

// Open loads the settings of an earlier run in the same Pod. With a nil file the settings stay in memory.
func Open(file *File, owner Owner) *Store {
	store := &Store{file: file, current: Settings{Owner: owner}}
	if file == nil {
		return store
	}
	if earlier, ok := file.load(); ok {
		store.current = earlier.handTo(owner)
	}
	return store
}

// handTo returns what remains of settings for an owner. Another Pod of the same sandbox needs a new /init, and no replay of
// the last one will do.
func (s Settings) handTo(owner Owner) Settings {
	switch {
	case s.Owner == owner:
		return s
	case s.Owner.SandboxUID == owner.SandboxUID:
		return Settings{Owner: owner, SignedAt: s.SignedAt}
	}
	return Settings{Owner: owner}
}

// Succeed returns the store of a Pod into which this one was restored, and retires this one. The new store is as before any
// /init, but refuses signatures that are not newer than oldest (Unix ms): they may be from before the snapshot. An error
// means that the new settings are in memory only.
func (s *Store) Succeed(owner Owner, oldest int64) (*Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	remaining := Settings{Owner: owner, SignedAt: oldest}
	if s.current.Owner.SandboxUID == owner.SandboxUID {
		remaining.SignedAt = max(oldest, s.current.SignedAt)
	}
	// Requests that are under way may still ask this store.
	s.current = Settings{Owner: s.current.Owner, AccessToken: rand.Text(), Exec: new(bool)}
	next := &Store{file: s.file, current: remaining}
	if s.file == nil {
		return next, nil
	}
	return next, s.file.save(remaining)
}

// errRetired answers an /init that began before the sandbox was saved.
var errRetired = errors.New("the sandbox was restored from a snapshot meanwhile")

// Current returns the settings; callers must not modify the map.
func (s *Store) Current() Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// Change applies an update to the settings, one at a time. It changes nothing if the update fails or the file cannot
// be written.
func (s *Store) Change(update func(current Settings) (Settings, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return errRetired
	}
	next, err := update(s.current)
	if err != nil {
		return err
	}
	next.EnvVars = maps.Clone(next.EnvVars)
	if s.file != nil {
		if err := s.file.save(next); err != nil {
			return err
		}
	}
	s.current = next
	return nil
}
