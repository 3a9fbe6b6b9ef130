package rpc

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"

	"connectrpc.com/connect"

	"sandlot.dev/runtime/internal/fsops"
	pb "sandlot.dev/runtime/internal/gen/filesystem"
	"sandlot.dev/runtime/internal/watch"
)

// watchRequest is the common part of WatchDir and CreateWatcher requests.
type watchRequest interface {
	GetPath() string
	GetRecursive() bool
	GetIncludeEntry() bool
	GetAllowNetworkMounts() bool
}

// dirWatch is a watch on a directory, with the options of its events.
type dirWatch struct {
	*watch.Subscription
	root    string
	entries bool
	view    fsops.View
}

// watch starts the watch of a request.
func (f *Filesystem) watch(r connect.AnyRequest, request watchRequest) (*dirWatch, error) {
	user, path, err := f.locate(r.Header(), request.GetPath())
	if err != nil {
		return nil, err
	}
	view := f.view(user)
	if err := mustBeDir(view, path); err != nil {
		return nil, err
	}
	if !request.GetAllowNetworkMounts() && watch.OnNetwork(path) {
		return nil, fail(connect.CodeInvalidArgument, "'"+path+"' is on a network mount, where changes made elsewhere are not seen: allow network mounts to watch it")
	}
	subscription, err := f.hub.Watch(watch.Options{
		Root: path, Files: view, Recursive: request.GetRecursive(), NetworkMounts: request.GetAllowNetworkMounts(),
	})
	if err != nil {
		return nil, watchError(err)
	}
	return &dirWatch{Subscription: subscription, root: path, entries: request.GetIncludeEntry(), view: view}, nil
}

// watchError maps an error of a watch. The kernel reports ENOSPC when its limits on watches are reached.
func watchError(err error) error {
	for _, limit := range []error{watch.ErrLost, syscall.ENOSPC, syscall.EMFILE, syscall.ENOMEM} {
		if errors.Is(err, limit) {
			return connect.NewError(connect.CodeResourceExhausted, err)
		}
	}
	return fileError(err)
}

var eventTypes = map[watch.Op]pb.EventType{
	watch.Create: pb.EventType_EVENT_TYPE_CREATE,
	watch.Write:  pb.EventType_EVENT_TYPE_WRITE,
	watch.Remove: pb.EventType_EVENT_TYPE_REMOVE,
	watch.Rename: pb.EventType_EVENT_TYPE_RENAME,
	watch.Chmod:  pb.EventType_EVENT_TYPE_CHMOD,
}

// event converts a change. It has no entry if the file is already gone.
func (w *dirWatch) event(change watch.Event) *pb.FilesystemEvent {
	event := &pb.FilesystemEvent{Name: text(change.Name), Type: eventTypes[change.Op]}
	if w.entries && change.Op != watch.Remove && change.Op != watch.Rename {
		if entry, err := entryAt(w.view, filepath.Join(w.root, change.Name)); err == nil {
			event.Entry = entry
		}
	}
	return event
}

func (f *Filesystem) watchDir(ctx context.Context, r *connect.Request[pb.WatchDirRequest], stream *connect.ServerStream[pb.WatchDirResponse]) error {
	w, err := f.watch(r, r.Msg)
	if err != nil {
		return err
	}
	defer w.Close()
	out := newSender(ctx, r.Header(), stream, &pb.WatchDirResponse{
		Event: &pb.WatchDirResponse_Keepalive{Keepalive: &pb.WatchDirResponse_KeepAlive{}},
	})
	defer out.stop()
	start := &pb.WatchDirResponse{Event: &pb.WatchDirResponse_Start{Start: &pb.WatchDirResponse_StartEvent{}}}
	if err := out.send(start); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return contextError(ctx)
		case <-out.timer.C:
			if err := out.ping(); err != nil {
				return err
			}
		case <-w.Ready():
			if err := w.deliver(out); err != nil {
				return err
			}
		}
	}
}

// deliver sends the queued changes and then the error of the watch, if it failed.
func (w *dirWatch) deliver(out *sender[pb.WatchDirResponse]) error {
	for {
		changes, err := w.Take()
		if err != nil {
			return watchError(err)
		}
		if len(changes) == 0 {
			return nil
		}
		for _, change := range changes {
			event := &pb.WatchDirResponse_Filesystem{Filesystem: w.event(change)}
			if err := out.send(&pb.WatchDirResponse{Event: event}); err != nil {
				return err
			}
		}
	}
}
