package watch

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// queueLimit bounds the events that wait for a subscriber.
const queueLimit = 16 << 10

// ErrLost means that there were more events than the queue holds.
var ErrLost = errors.New("more changes than could be kept: events were lost")

// Op is the kind of a change.
type Op int

// Changes of the entries of a directory. A rename is Rename with the old name and Create with the new one.
const (
	Create Op = iota
	Write
	Remove
	Rename
	Chmod
)

// Event is one change; Name is relative to the watched directory.
type Event struct {
	Name string
	Op   Op
}

// Subscription collects the changes below one directory.
type Subscription struct {
	hub     *Hub
	options Options

	// The fields below belong to the hub and are guarded by its lock.
	wds       map[int32]string
	scanned   map[string]struct{}
	scannedAt time.Time

	mu     sync.Mutex
	queue  []Event
	err    error
	ready  chan struct{}
	closed bool
}

// Ready yields after events were queued or the subscription failed.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns and empties the queue. After a failure it returns the remaining events first and then always the
// error.
func (s *Subscription) Take() ([]Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.queue
	s.queue = nil
	if len(events) == 0 {
		return nil, s.err
	}
	return events, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s)
}

func (s *Subscription) push(event Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && len(s.queue) >= queueLimit {
		s.err = ErrLost
	}
	if s.err == nil {
		s.queue = append(s.queue, event)
	}
	s.wake()
}

func (s *Subscription) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.wake()
}

func (s *Subscription) failOn(err error) {
	if err != nil {
		s.fail(err)
	}
}

func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *Subscription) path(name string) string { return filepath.Join(s.options.Root, name) }

// enters reports whether a recursive watch includes a directory. It skips virtual file systems, which change all the
// time without notifications, and network mounts unless they are requested.
func (s *Subscription) enters(name string) bool {
	var outer, inner syscall.Stat_t
	path := s.path(name)
	if syscall.Stat(filepath.Dir(path), &outer) != nil || syscall.Lstat(path, &inner) != nil || outer.Dev == inner.Dev {
		return true
	}
	kind := kindOf(path)
	return kind != madeUp && (kind != network || s.options.NetworkMounts)
}
