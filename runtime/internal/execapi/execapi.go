// Package execapi serves the runtime API of the Kubernetes agent-sandbox SDK on port 8888. It has no authentication of
// its own: the network must admit the gateway alone, and it answers in those sandboxes only that are used by it.
package execapi

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

// usualBase is where images for this SDK keep what they work on.
const usualBase = "/app"

// Service serves the API.
type Service struct {
	Session *session.Session
	Table   *process.Table
	// BaseDir is what all paths are below; empty means /app if there is one, else the default workdir.
	BaseDir string
	// Timeout is the limit of a command that asks for none.
	Timeout time.Duration
	// Argv splits commands into words instead of giving them to a shell.
	Argv bool
	// Gate says whether the API is for this sandbox.
	Gate *Gate
}

type message struct {
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, text string) {
	httpx.WriteJSON(w, status, message{strings.ToValidUTF8(text, "\uFFFD")})
}

// ServeHTTP routes by the raw request target: clients encode the slashes of a path, a mux would fold `..` and `//`, and
// decoding twice would spoil names with a percent sign.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, _, _ := strings.Cut(r.RequestURI, "?")
	route, rest, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/")
	path, err := url.PathUnescape(rest)
	if err != nil {
		refuse(w, http.StatusBadRequest, "the path cannot be decoded")
		return
	}
	routes := map[string]func(http.ResponseWriter, *http.Request, string){
		"GET ": s.root, "POST execute": s.execute, "POST upload": s.upload, "GET download": s.download,
		"GET list": s.list, "GET exists": s.exists,
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	serve, found := routes[method+" "+route]
	if !found {
		refuse(w, http.StatusNotFound, "no such route")
		return
	}
	// Probes of the pod ask for the root, before anybody can have said whom the sandbox is for; it tells nothing.
	if reason := s.Gate.closed(); reason != "" && route != "" {
		refuse(w, http.StatusForbidden, reason)
		return
	}
	serve(w, r, path)
}

func (s *Service) root(w http.ResponseWriter, _ *http.Request, _ string) {
	httpx.WriteJSON(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"ok", "Sandbox Runtime is active."})
}

// place is the user requests act for and the directory their paths are below.
type place struct {
	user users.User
	base string
}

func (s *Service) place() (place, error) {
	user, err := s.Session.User("")
	if err != nil {
		return place{}, err
	}
	base := s.BaseDir
	if base == "" {
		if info, err := os.Stat(usualBase); err == nil && info.IsDir() {
			base = usualBase
		}
	}
	base, err = s.Session.Resolve(base, user)
	return place{user, base}, err
}

// inside makes a path absolute and tells whether it is below the base once symlinks are resolved; what does not exist
// yet is judged by its nearest parent that does.
func (p place) inside(path string) (string, bool) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", false
	}
	base, err := filepath.EvalSymlinks(p.base)
	if err != nil {
		base = p.base
	}
	absolute := filepath.Join(p.base, path)
	if filepath.IsAbs(path) && below(filepath.Clean(path), p.base) {
		absolute = filepath.Clean(path)
	}
	return absolute, below(settled(absolute), base)
}

// settled resolves the symlinks of the part of a path that exists. A symlink to nothing is followed by its text.
func settled(path string) string {
	rest := ""
	for at, hops := path, 0; hops < 255; hops++ {
		resolved, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(resolved, rest)
		}
		if target, err := os.Readlink(at); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(at), target)
			}
			at = filepath.Clean(target)
			continue
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = filepath.Dir(at)
	}
	// More links than the kernel follows: nothing can be opened there, so it is outside of everything.
	return ""
}

func below(path, base string) bool {
	return path == base || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}
