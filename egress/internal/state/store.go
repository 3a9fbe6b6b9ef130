// Package state holds what the rules process has pushed: what each Pod may reach, and the values that rules set.
package state

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/secret"
)

const (
	// beatLimit is how long the rules process may be silent while this replica counts as ready.
	beatLimit = 5 * time.Second
	// credentialLimit is how old the view of the cluster may be while values are handed out.
	credentialLimit = 30 * time.Second
	// listLimit is how old it may be while allow lists hold. After it everything is refused.
	listLimit = 10 * time.Minute
)

// Clock tells the time. A test sets it forward.
type Clock func() time.Time

// Store is safe for concurrent use. What it returns is never changed.
type Store struct {
	now     Clock
	mutex   sync.RWMutex
	view    view
	beatAt  time.Time
	freshAt time.Time
	synced  bool
	// changed is closed and replaced whenever a sandbox came or went.
	changed  chan struct{}
	onChange OnChange
}

// Change says for which addresses something else holds than before.
type Change struct {
	All       bool
	Addresses []netip.Addr
}

// OnChange hears of each change once it holds.
type OnChange func(Change)

type view struct {
	sandboxes map[netip.Addr]*rules.Sandbox
	values    map[string]secret.Value
	blocked   []netip.Prefix
	proxy     rules.Proxy
}

func newView() view {
	return view{sandboxes: map[netip.Addr]*rules.Sandbox{}, values: map[string]secret.Value{}}
}

// NewStore makes an empty store, which knows no Pod. It calls onChange after each change of what Pods may reach.
func NewStore(now Clock, onChange OnChange) *Store {
	return &Store{now: now, view: newView(), changed: make(chan struct{}), onChange: onChange}
}

// Find returns what holds for a Pod, or nil if the address is no sandbox's or the view is too old to go by.
func (s *Store) Find(address netip.Addr) *rules.Sandbox {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if !s.isFresh(listLimit) {
		return nil
	}
	found := s.view.sandboxes[address.Unmap()]
	// A claim may have taken it since, and closed it.
	if found != nil && found.ClaimUID == "" && !s.isCurrent() {
		return nil
	}
	return found
}

// Await is Find that waits until a Pod is known or the context ends: a new Pod may call before its watch event has come.
func (s *Store) Await(ctx context.Context, address netip.Addr) *rules.Sandbox {
	for {
		s.mutex.RLock()
		changed := s.changed
		s.mutex.RUnlock()
		if found := s.Find(address); found != nil {
			return found
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Value returns what a reference stands for now. It is false if there is none, or if the view is too old to hand out credentials.
func (s *Store) Value(ref string) (secret.Value, bool) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	value, found := s.view.values[ref]
	return value, found && s.isFresh(credentialLimit)
}

// IsBlocked says whether no sandbox may reach the address. Until the rules process has said which are blocked, all are.
func (s *Store) IsBlocked(address netip.Addr) bool {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	for _, prefix := range s.view.blocked {
		if prefix.Contains(address) {
			return true
		}
	}
	return len(s.view.blocked) == 0
}

// Proxy returns the addresses to which the resolver leads sandboxes. Before the first whole view it has none, and knows no sandbox.
func (s *Store) Proxy() rules.Proxy {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.view.proxy
}

// IsReady says whether the store has a whole view, and the rules process is there.
func (s *Store) IsReady() bool {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.isCurrent()
}

// IsStale says whether the view is too old to hand out credentials.
func (s *Store) IsStale() bool {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.synced && !s.isFresh(credentialLimit)
}

// IsAttended says whether the rules process is there.
func (s *Store) IsAttended() bool {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.now().Sub(s.beatAt) < beatLimit
}

// Age is how old the view is. It is false while there was none.
func (s *Store) Age() (time.Duration, bool) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.now().Sub(s.freshAt), s.synced && !s.freshAt.IsZero()
}

// Count is how many sandboxes are known. One may have two addresses.
func (s *Store) Count() int {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	uids := make(map[string]struct{}, len(s.view.sandboxes))
	for _, sandbox := range s.view.sandboxes {
		uids[sandbox.UID] = struct{}{}
	}
	return len(uids)
}

func (s *Store) isCurrent() bool {
	return s.now().Sub(s.beatAt) < beatLimit && s.isFresh(credentialLimit)
}

func (s *Store) isFresh(limit time.Duration) bool {
	return s.synced && s.now().Sub(s.freshAt) < limit
}

// replace swaps in a whole view.
func (s *Store) replace(next view) {
	s.change(Change{All: true}, func() {
		s.view = next
		s.synced = true
	})
}

// apply changes the view that is in use.
func (s *Store) apply(change edit) {
	s.change(change.of, func() { change.make(&s.view) })
}

func (s *Store) change(of Change, edit func()) {
	s.mutex.Lock()
	edit()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mutex.Unlock()
	s.onChange(of)
}

// beat notes that the rules process is there, and how old its view of the cluster is. An age that is unknown, or beyond every limit,
// makes nothing fresh.
func (s *Store) beat(ageMs *int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.beatAt = s.now()
	if ageMs == nil || *ageMs < 0 || *ageMs >= listLimit.Milliseconds() {
		return
	}
	if fresh := s.beatAt.Add(-time.Duration(*ageMs) * time.Millisecond); fresh.After(s.freshAt) {
		s.freshAt = fresh
	}
}
