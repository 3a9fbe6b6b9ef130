package rpc

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"connectrpc.com/connect"

	pb "sandlot.dev/runtime/internal/gen/filesystem"
)

const (
	// watcherIdle is how long a watcher is kept without a poll.
	watcherIdle = 10 * time.Minute
	// maxWatchers bounds the watchers that clients leave behind within that time.
	maxWatchers = 1024
)

// watchers holds the watchers that clients poll. It is safe for concurrent use.
type watchers struct {
	idle time.Duration
	mu   sync.Mutex
	byID map[string]*polled
}

type polled struct {
	*dirWatch
	expiry *time.Timer
}

func newWatchers(idle time.Duration) *watchers {
	return &watchers{idle: idle, byID: map[string]*polled{}}
}

// add stores a watcher and returns its id; false if there are too many.
func (w *watchers) add(each *dirWatch) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byID) >= maxWatchers {
		return "", false
	}
	id := rand.Text()
	w.byID[id] = &polled{dirWatch: each, expiry: time.AfterFunc(w.idle, func() { w.remove(id) })}
	return id, true
}

// get finds a watcher and restarts its idle time.
func (w *watchers) get(id string) (*dirWatch, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.byID[id]
	if !ok {
		return nil, false
	}
	found.expiry.Reset(w.idle)
	return found.dirWatch, true
}

func (w *watchers) remove(id string) bool {
	w.mu.Lock()
	found, ok := w.byID[id]
	delete(w.byID, id)
	w.mu.Unlock()
	if ok {
		found.expiry.Stop()
		found.Close()
	}
	return ok
}

func (f *Filesystem) createWatcher(_ context.Context, r *connect.Request[pb.CreateWatcherRequest]) (*pb.CreateWatcherResponse, error) {
	each, err := f.watch(r, r.Msg)
	if err != nil {
		return nil, err
	}
	id, ok := f.watchers.add(each)
	if !ok {
		each.Close()
		return nil, fail(connect.CodeResourceExhausted, "there are 1024 watchers: remove some")
	}
	return &pb.CreateWatcherResponse{WatcherId: id}, nil
}

func (f *Filesystem) getWatcherEvents(_ context.Context, r *connect.Request[pb.GetWatcherEventsRequest]) (*pb.GetWatcherEventsResponse, error) {
	each, ok := f.watchers.get(r.Msg.GetWatcherId())
	if !ok {
		return nil, noWatcher(r.Msg.GetWatcherId())
	}
	changes, err := each.Take()
	if err != nil {
		return nil, watchError(err)
	}
	response := &pb.GetWatcherEventsResponse{}
	for _, change := range changes {
		response.Events = append(response.Events, each.event(change))
	}
	return response, nil
}

func (f *Filesystem) removeWatcher(_ context.Context, r *connect.Request[pb.RemoveWatcherRequest]) (*pb.RemoveWatcherResponse, error) {
	if !f.watchers.remove(r.Msg.GetWatcherId()) {
		return nil, noWatcher(r.Msg.GetWatcherId())
	}
	return &pb.RemoveWatcherResponse{}, nil
}

func noWatcher(id string) error {
	return fail(connect.CodeNotFound, "no such watcher: '"+id+"'; one that nobody asks for 10 minutes is removed")
}
