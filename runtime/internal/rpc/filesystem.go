package rpc

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"syscall"

	"connectrpc.com/connect"

	"sandlot.dev/runtime/internal/fsops"
	pb "sandlot.dev/runtime/internal/gen/filesystem"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
	"sandlot.dev/runtime/internal/watch"
)

// maxEntries bounds a listing, which is built in memory.
const maxEntries = 100_000

// Filesystem serves filesystem.Filesystem (docs/reference/runtime.md#files).
type Filesystem struct {
	session  *session.Session
	hub      *watch.Hub
	watchers *watchers
}

// NewFilesystem returns the service for the files of the container.
func NewFilesystem(s *session.Session) *Filesystem {
	return &Filesystem{session: s, hub: watch.NewHub(), watchers: newWatchers(watcherIdle)}
}

// Register adds the routes of the service.
func (f *Filesystem) Register(mux *http.ServeMux) {
	const service = "/filesystem.Filesystem/"
	unary(mux, service+"Stat", f.stat)
	unary(mux, service+"ListDir", f.listDir)
	unary(mux, service+"MakeDir", f.makeDir)
	unary(mux, service+"Move", f.move)
	unary(mux, service+"Remove", f.remove)
	serverStream(mux, service+"WatchDir", f.watchDir)
	unary(mux, service+"CreateWatcher", f.createWatcher)
	unary(mux, service+"GetWatcherEvents", f.getWatcherEvents)
	unary(mux, service+"RemoveWatcher", f.removeWatcher)
}

func (f *Filesystem) view(user users.User) fsops.View {
	return fsops.View{Session: f.session, User: user}
}

// locate returns the user of a request and its absolute path.
func (f *Filesystem) locate(header http.Header, path string) (users.User, string, error) {
	user, err := userOf(f.session, header)
	if err != nil {
		return user, "", err
	}
	absolute, err := f.session.Resolve(path, user)
	if err != nil {
		return user, "", connect.NewError(connect.CodeInvalidArgument, err)
	}
	return user, absolute, nil
}

func (f *Filesystem) stat(_ context.Context, r *connect.Request[pb.StatRequest]) (*pb.StatResponse, error) {
	user, path, err := f.locate(r.Header(), r.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	entry, err := entryAt(f.view(user), path)
	if err != nil {
		return nil, fileError(err)
	}
	return &pb.StatResponse{Entry: entry}, nil
}

func (f *Filesystem) listDir(_ context.Context, r *connect.Request[pb.ListDirRequest]) (*pb.ListDirResponse, error) {
	user, path, err := f.locate(r.Header(), r.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	l := &lister{view: f.view(user)}
	if err := mustBeDir(l.view, path); err != nil {
		return nil, err
	}
	if err := l.list(path, max(r.Msg.GetDepth(), 1)); err != nil {
		return nil, fileError(err)
	}
	return &pb.ListDirResponse{Entries: l.entries}, nil
}

func mustBeDir(view fsops.View, path string) error {
	info, err := view.Stat(path)
	if err != nil {
		return fileError(err)
	}
	if !info.IsDir() {
		return fail(connect.CodeInvalidArgument, "'"+path+"' is not a directory")
	}
	return nil
}

var errTooMany = errors.New("the listing has more than 100000 entries: list a smaller depth")

type lister struct {
	view    fsops.View
	entries []*pb.EntryInfo
}

// list adds the entries of a directory, each one before its children. It skips entries that vanish and directories
// that it may not read.
func (l *lister) list(dir string, depth uint32) error {
	found, err := l.view.List(dir, maxEntries-len(l.entries)+1)
	if err != nil {
		return err
	}
	for _, each := range found {
		if len(l.entries) >= maxEntries {
			return errTooMany
		}
		l.entries = append(l.entries, entryOf(l.view, each))
		if depth > 1 && each.Info.IsDir() {
			if err := l.list(each.Path, depth-1); errors.Is(err, errTooMany) {
				return err
			}
		}
	}
	return nil
}

func (f *Filesystem) makeDir(_ context.Context, r *connect.Request[pb.MakeDirRequest]) (*pb.MakeDirResponse, error) {
	user, path, err := f.locate(r.Header(), r.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	if info, err := f.view(user).Stat(path); err == nil {
		if info.IsDir() {
			return nil, fail(connect.CodeAlreadyExists, "the directory '"+path+"' exists")
		}
		return nil, fail(connect.CodeInvalidArgument, "'"+path+"' exists and is not a directory")
	}
	if err := fsops.MakeDirs(f.session, path, user); err != nil {
		return nil, fileError(err)
	}
	entry, err := entryAt(f.view(user), path)
	if err != nil {
		return nil, fileError(err)
	}
	return &pb.MakeDirResponse{Entry: entry}, nil
}

func (f *Filesystem) move(_ context.Context, r *connect.Request[pb.MoveRequest]) (*pb.MoveResponse, error) {
	user, source, err := f.locate(r.Header(), r.Msg.GetSource())
	if err != nil {
		return nil, err
	}
	destination, err := f.session.Resolve(r.Msg.GetDestination(), user)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if _, err := f.view(user).Look(source); err != nil {
		return nil, fileError(err)
	}
	if err := fsops.MakeDirs(f.session, filepath.Dir(destination), user); err != nil {
		return nil, fileError(err)
	}
	if err := fsops.Move(f.session, source, destination, user); err != nil {
		return nil, fileError(err)
	}
	entry, err := entryAt(f.view(user), destination)
	if err != nil {
		return nil, fileError(err)
	}
	return &pb.MoveResponse{Entry: entry}, nil
}

func (f *Filesystem) remove(_ context.Context, r *connect.Request[pb.RemoveRequest]) (*pb.RemoveResponse, error) {
	user, path, err := f.locate(r.Header(), r.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	if path == "/" {
		return nil, fail(connect.CodeInvalidArgument, "the root directory cannot be removed")
	}
	if err := fsops.Remove(f.session, path, user); err != nil {
		return nil, fileError(err)
	}
	return &pb.RemoveResponse{}, nil
}

// fileError maps an error of a file operation to a Connect error.
func fileError(err error) error {
	code := connect.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = connect.CodeNotFound
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EBUSY):
		code = connect.CodeFailedPrecondition
	case errors.Is(err, fs.ErrExist):
		code = connect.CodeAlreadyExists
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code = connect.CodePermissionDenied
	case fsops.OutOfSpace(err), errors.Is(err, errTooMany):
		code = connect.CodeResourceExhausted
	case fsops.BadPath(err):
		code = connect.CodeInvalidArgument
	}
	return connect.NewError(code, errors.New(text(err.Error())))
}
