package front

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"sandlot.dev/egress/internal/state"
)

// sweepEvery is how often what is not used any more is forgotten, and connections of a view that got too old are closed.
const sweepEvery = time.Second

const drainPoll = 50 * time.Millisecond

// serverList is safe for concurrent use.
type serverList struct {
	mutex sync.Mutex
	all   []*http.Server
}

func (l *serverList) add(server *http.Server) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all = append(l.all, server)
}

func (l *serverList) list() []*http.Server {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.all)
}

// Recheck closes the connections that a change of the view does not hold any more.
func (f *Front) Recheck(change state.Change) {
	closed := 0
	if change.All {
		closed = f.Register.RecheckAll()
		f.dialled.RecheckAll()
	} else {
		closed = f.Register.Recheck(change.Addresses)
		f.dialled.Recheck(change.Addresses)
	}
	f.Metrics.Closed.Add(float64(closed))
}

// Drain asks clients to open no further requests, waits until all connections have ended or the context does, and closes the rest.
func (f *Front) Drain(ctx context.Context) {
	defer f.Register.CloseAll()
	for _, server := range f.servers.list() {
		go func() { _ = server.Shutdown(ctx) }()
	}
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for f.Register.Open() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Keep sweeps until the context ends, and calls another sweep beside its own. A view that ages changes what holds without a message.
func (f *Front) Keep(ctx context.Context, sweep func()) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.Register.Sweep()
			f.dialled.Sweep()
			f.upstreams.sweep()
			sweep()
			if f.Store.IsStale() {
				f.Recheck(state.Change{All: true})
			}
		}
	}
}
