// Package state holds the settings of /init: token, environment, default user and working directory. A file keeps
// them, so that a restarted container needs no new /init.
package state

import (
	"maps"
	"sync"
)

// Settings are the settings of /init. A published value is never modified.
type Settings struct {
	// AccessToken is the token that requests must carry; empty: none is set.
	AccessToken string            `json:"accessToken,omitempty"`
	EnvVars     map[string]string `json:"envVars,omitempty"`
	DefaultUser string            `json:"defaultUser,omitempty"`
	Workdir     string            `json:"defaultWorkdir,omitempty"`
	// SaidAt is the timestamp of the last accepted body, in Unix nanoseconds; 0 if it had none.
	SaidAt int64 `json:"saidAt,omitempty"`
	// SignedAt is the timestamp of the last accepted signature, in Unix milliseconds. An older signature is a replay.
	SignedAt int64 `json:"signedAt,omitempty"`
	// Exec is whether the installation uses this sandbox through the agent-sandbox API; nil: unknown.
	Exec *bool `json:"exec,omitempty"`
	// Initialized means that /init was accepted at least once.
	Initialized bool `json:"initialized"`
}

// Store holds the current settings. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	current Settings
	file    *File
}

// Open loads the settings of an earlier run. With a nil file the settings stay in memory.
func Open(file *File) *Store {
	store := &Store{file: file}
	if file != nil {
		if earlier, ok := file.load(); ok {
			store.current = earlier
		}
	}
	return store
}

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
