// Package conns knows the open connections of each sandbox: it bounds them, and closes those that a change of rules no longer allows.
package conns

import (
	"errors"
	"io"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/time/rate"
	"sandlot.dev/egress/internal/rules"
)

var (
	// ErrTooMany says that the sandbox has as many connections open as it may have.
	ErrTooMany = errors.New("the sandbox has too many open connections")
	// ErrTooFast says that the sandbox opens connections faster than it may.
	ErrTooFast = errors.New("the sandbox opens connections too fast")
	// ErrChanged says that the rules no longer allow what they allowed when the connection was decided over.
	ErrChanged = errors.New("the rules changed meanwhile")
)

// Limits are for one sandbox.
type Limits struct {
	// Open connections at a time.
	Open int
	// PerSecond are new connections.
	PerSecond int
}

// Find returns what holds for an address now, or nil.
type Find func(netip.Addr) *rules.Sandbox

// Holds says whether a connection may stay under the rules of now.
type Holds func(*rules.Sandbox) bool

// Register is safe for concurrent use.
type Register struct {
	limits Limits
	find   Find
	mutex  sync.Mutex
	// sources has an entry for each address with connections, and for those whose rate is still bounded.
	sources map[netip.Addr]*source
	open    int
}

type source struct {
	entries map[*Entry]struct{}
	limiter *rate.Limiter
}

// Entry is an open connection.
type Entry struct {
	register *Register
	address  netip.Addr
	conn     io.Closer
	holds    Holds
}

// New makes an empty register.
func New(limits Limits, find Find) *Register {
	return &Register{limits: limits, find: find, sources: map[netip.Addr]*source{}}
}

// Admit counts a new connection, and returns ErrTooFast if it is one too many in this second.
func (r *Register) Admit(address netip.Addr) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.get(address).limiter.Allow() {
		return ErrTooFast
	}
	return nil
}

func (r *Register) get(address netip.Addr) *source {
	found := r.sources[address]
	if found == nil {
		limiter := rate.NewLimiter(rate.Limit(r.limits.PerSecond), r.limits.PerSecond)
		found = &source{entries: map[*Entry]struct{}{}, limiter: limiter}
		r.sources[address] = found
	}
	return found
}

// Add registers a connection, which is closed once the rules of its sandbox no longer hold it. The caller removes the entry when the
// connection ends. After an error the caller closes the connection.
func (r *Register) Add(address netip.Addr, conn io.Closer, holds Holds) (*Entry, error) {
	entry := &Entry{register: r, address: address, conn: conn, holds: holds}
	if err := r.put(entry); err != nil {
		return nil, err
	}
	// A change that came after the decision and before the line above closed nothing.
	if !holds(r.find(address)) {
		entry.Remove()
		return nil, ErrChanged
	}
	return entry, nil
}

func (r *Register) put(entry *Entry) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	of := r.get(entry.address)
	if len(of.entries) >= r.limits.Open {
		return ErrTooMany
	}
	of.entries[entry] = struct{}{}
	r.open++
	return nil
}

// Remove takes the connection off the register. It may be called again.
func (e *Entry) Remove() {
	r := e.register
	r.mutex.Lock()
	defer r.mutex.Unlock()
	of := r.sources[e.address]
	if of == nil {
		return
	}
	if _, found := of.entries[e]; found {
		delete(of.entries, e)
		r.open--
	}
}

// Open is how many connections are open.
func (r *Register) Open() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.open
}

// RecheckAll closes all connections that the rules of now do not hold, and returns how many.
func (r *Register) RecheckAll() int {
	return r.Recheck(r.addresses())
}

// CloseAll closes every connection.
func (r *Register) CloseAll() {
	for _, entries := range r.list(r.addresses()) {
		for _, entry := range entries {
			_ = entry.conn.Close()
			entry.Remove()
		}
	}
}

func (r *Register) addresses() []netip.Addr {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Collect(maps.Keys(r.sources))
}

// Recheck does the same for the connections of some addresses.
func (r *Register) Recheck(addresses []netip.Addr) int {
	closed := 0
	for address, entries := range r.list(addresses) {
		now := r.find(address)
		for _, entry := range entries {
			if !entry.holds(now) {
				_ = entry.conn.Close()
				entry.Remove()
				closed++
			}
		}
	}
	return closed
}

func (r *Register) list(addresses []netip.Addr) map[netip.Addr][]*Entry {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	listed := make(map[netip.Addr][]*Entry, len(addresses))
	for _, address := range addresses {
		if of := r.sources[address]; of != nil {
			for entry := range of.entries {
				listed[address] = append(listed[address], entry)
			}
		}
	}
	return listed
}

// Sweep forgets addresses that have no connection and could open all of a second again.
func (r *Register) Sweep() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for address, of := range r.sources {
		if len(of.entries) == 0 && of.limiter.Tokens() >= float64(r.limits.PerSecond) {
			delete(r.sources, address)
		}
	}
}
