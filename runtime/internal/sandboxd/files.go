package sandboxd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/agentsandbox"
	"sandlot.dev/runtime/internal/fsops"
	"sandlot.dev/runtime/internal/httpx"
)

// Files serves `/v1/files/{path}`, `/v1/health` and `/v1/metadata`.
type Files struct {
	Root agentsandbox.Root
	Gate *agentsandbox.Gate
	// Started is when the daemon started.
	Started time.Time
}

const (
	filesRoute    = "v1/files"
	healthRoute   = "v1/health"
	metadataRoute = "v1/metadata"
)

// ServeHTTP routes by the raw request target: clients encode the slashes of paths, and a ServeMux would clean `..` and `//`.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httpx.Patient(w, r)
	target, _, _ := strings.Cut(r.RequestURI, "?")
	route, rest := splitRoute(strings.TrimPrefix(target, "/"))
	methods, found := f.routes()[route]
	if !found {
		refuse(w, http.StatusNotFound, notFound, "no such route")
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	serve, found := methods[method]
	if !found {
		refuse(w, http.StatusMethodNotAllowed, invalidArgument, r.Method+" is not allowed here")
		return
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		refuse(w, http.StatusBadRequest, invalidArgument, "the path cannot be decoded")
		return
	}
	// The probes of the pod ask for the health before /init arrives, so it is always open.
	if reason := f.Gate.ClosedReason(r); reason != "" && route != healthRoute {
		refuse(w, http.StatusForbidden, permissionDenied, reason)
		return
	}
	if failure := serve(w, r, path); failure != nil {
		refuse(w, failure.status, failure.code, failure.message)
	}
}

type handler func(w http.ResponseWriter, r *http.Request, path string) *failure

func (f *Files) routes() map[string]map[string]handler {
	return map[string]map[string]handler{
		filesRoute:    {http.MethodGet: f.get, http.MethodPut: f.put, http.MethodDelete: f.remove},
		healthRoute:   {http.MethodGet: f.health},
		metadataRoute: {http.MethodGet: f.metadata},
	}
}

func splitRoute(target string) (route, path string) {
	if path, found := strings.CutPrefix(target, filesRoute+"/"); found {
		return filesRoute, path
	}
	return target, ""
}

// place is where a request acts.
type place struct {
	agentsandbox.Place
	view fsops.View
	path string
}

// at finds the path of a request by one of the rules of [agentsandbox.Place].
func (f *Files) at(path string, rule func(agentsandbox.Place, string) (string, bool)) (place, *failure) {
	found, err := f.Root.Place()
	if err != nil {
		return place{}, &failure{http.StatusInternalServerError, internal, err.Error()}
	}
	absolute, inside := rule(found, path)
	if !inside {
		return place{}, &failure{http.StatusForbidden, permissionDenied, "'" + path + "' is outside of the base directory"}
	}
	return place{found, fsops.View{Session: f.Root.Session, User: found.User}, absolute}, nil
}

func (f *Files) get(w http.ResponseWriter, r *http.Request, path string) *failure {
	at, failed := f.at(path, agentsandbox.Place.Inside)
	if failed != nil {
		return failed
	}
	info, err := at.view.Stat(at.path)
	if err != nil {
		return missingOr(err, path)
	}
	if info.IsDir() {
		return list(w, at, path)
	}
	file, info, err := fsops.OpenRegular(f.Root.Session, at.path, at.User)
	if err != nil {
		return missingOr(err, path)
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	// The section keeps bytes out that are appended meanwhile, and files of the kernel whose size is unknown.
	http.ServeContent(w, r, "", info.ModTime(), io.NewSectionReader(file, 0, info.Size()))
	return nil
}

type listing struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
}

type entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Type string `json:"type"`
	// ModifiedAt is in RFC 3339.
	ModifiedAt string `json:"modified_at"`
	// Mode are the permissions in octal digits.
	Mode string `json:"mode"`
}

func list(w http.ResponseWriter, at place, path string) *failure {
	found, err := at.view.List(at.path, math.MaxInt)
	if err != nil {
		return missingOr(err, path)
	}
	said := listing{Path: "/" + strings.TrimPrefix(path, "/"), Entries: make([]entry, 0, len(found))}
	for _, each := range found {
		info := each.Info
		if each.Link != nil {
			info = each.Link.Info
		}
		// Clients know files and directories only, so a symlink that leads nowhere is left out.
		if info == nil {
			continue
		}
		kind := "file"
		if info.IsDir() {
			kind = "directory"
		}
		said.Entries = append(said.Entries, entry{
			Name: filepath.Base(each.Path), Size: info.Size(), Type: kind,
			ModifiedAt: info.ModTime().UTC().Format(time.RFC3339Nano), Mode: fmt.Sprintf("%04o", info.Mode().Perm()),
		})
	}
	httpx.WriteJSON(w, http.StatusOK, said)
	return nil
}

func (f *Files) remove(w http.ResponseWriter, r *http.Request, path string) *failure {
	isRecursive, failed := readBool(r.URL.Query(), "recursive")
	if failed != nil {
		return failed
	}
	at, failed := f.at(path, agentsandbox.Place.InsideItself)
	if failed != nil {
		return failed
	}
	if _, err := at.view.Look(at.path); err != nil {
		return missingOr(err, path)
	}
	if err := f.removeAt(at, isRecursive); err != nil {
		return missingOr(err, path)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// removeAt keeps the base itself, which may be the mount of a volume.
func (f *Files) removeAt(at place, isRecursive bool) error {
	if at.path != at.Base {
		if isRecursive {
			return fsops.Remove(f.Root.Session, at.path, at.User)
		}
		return fsops.RemoveOne(f.Root.Session, at.path, at.User)
	}
	if !isRecursive {
		return syscall.ENOTEMPTY
	}
	entries, err := at.view.ReadDir(at.path)
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(entries))
	for _, each := range entries {
		errs = append(errs, fsops.Remove(f.Root.Session, filepath.Join(at.path, each.Name()), at.User))
	}
	return errors.Join(errs...)
}

// missingOr is failureOf for what must exist: below a file, nothing does.
func missingOr(err error, path string) *failure {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return &failure{http.StatusNotFound, notFound, "'" + path + "' does not exist"}
	}
	return failureOf(err)
}

// failureOf maps an error of a file operation.
func failureOf(err error) *failure {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &failure{http.StatusForbidden, permissionDenied, err.Error()}
	case errors.Is(err, syscall.ENOTEMPTY):
		return &failure{http.StatusConflict, conflict, "the directory is not empty; recursive=true removes it with its contents"}
	case fsops.OutOfSpace(err):
		return &failure{http.StatusInsufficientStorage, internal, err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{http.StatusRequestTimeout, invalidArgument, "the body of the request stopped"}
	case fsops.BadPath(err):
		return &failure{http.StatusBadRequest, invalidArgument, err.Error()}
	}
	return &failure{http.StatusInternalServerError, internal, err.Error()}
}
