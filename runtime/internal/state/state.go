// Package state holds what /init said: token, environment, default user and workdir. It is kept in a file so that a
// restarted container goes on without a new /init.
package state

import (
	"maps"
	"sync"
)

// Settings are what /init said. A Settings value is not changed once it is published.
type Settings struct {
	// AccessToken is what requests must carry; empty means that none is set.
	AccessToken string            `json:"accessToken,omitempty"`
	EnvVars     map[string]string `json:"envVars,omitempty"`
	DefaultUser string            `json:"defaultUser,omitempty"`
	Workdir     string            `json:"defaultWorkdir,omitempty"`
	// SaidAt is the timestamp of the body accepted last, in Unix nanoseconds; 0 when it had none.
	SaidAt int64 `json:"saidAt,omitempty"`
	// SignedAt is the timestamp of the signature accepted last, in Unix milliseconds: an older signature is a replay.
	SignedAt int64 `json:"signedAt,omitempty"`
	// Exec is what the installation said of the agent-sandbox API: whether this sandbox is used by it; nil when it said
	// nothing.
	Exec *bool `json:"exec,omitempty"`
	// Initialized says that /init was accepted at least once.
	Initialized bool `json:"initialized"`
}

// Store is the current settings. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	current Settings
	file    *File
}

// Open reads the settings of an earlier run. A nil file keeps them in memory only.
func Open(file *File) *Store {
	store := &Store{file: file}
	if file != nil {
		if earlier, ok := file.load(); ok {
			store.current = earlier
		}
	}
	return store
}

// Current returns the settings; do not change its map.
func (s *Store) Current() Settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// Change runs an update of the settings, one at a time. Nothing is published when the update fails or the file cannot
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
