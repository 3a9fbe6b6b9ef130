// Package execapi serves the runtime API of the Kubernetes agent-sandbox SDK on port 8888
// (docs/reference/runtime.md#agent-sandbox-api). The API has no tokens: the gate opens it only in sandboxes that are used
// through it, and in those without a claim only to the gateway; in the others a NetworkPolicy admits only the gateway.
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

// usualBase is the working folder of images for this SDK.
const usualBase = "/app"

// Service serves the API.
type Service struct {
	Session *session.Session
	Table   *process.Table
	// BaseDir is the root of all paths; empty means /app if it exists, else the default working directory.
	BaseDir string
	// Timeout is the limit of a command whose request has none.
	Timeout time.Duration
	// Argv splits commands into words instead of running them in a shell.
	Argv bool
	// Gate decides whether the API answers in this sandbox.
	Gate *Gate
}

type message struct {
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, text string) {
	httpx.WriteJSON(w, status, message{strings.ToValidUTF8(text, "\uFFFD")})
}

// ServeHTTP routes by the raw request target. Clients encode the slashes of paths, a ServeMux would clean `..` and
// `//`, and decoding twice would break names with a percent sign.
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
	// The probes of the pod request the root before /init arrives, so it is always open; it reveals nothing.
	if reason := s.Gate.closedReason(r); reason != "" && route != "" {
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

// place is the user that requests act for and the root of their paths.
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

// inside returns the absolute path, and whether it is below the base after symlinks are resolved. A path that does
// not exist is judged by its nearest existing parent.
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
	return absolute, below(resolveExisting(absolute), base)
}

// resolveExisting resolves the symlinks in the existing part of a path. A dangling symlink is followed to its target path.
func resolveExisting(path string) string {
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
	// The kernel follows fewer links than this, so nothing can be opened there: treat the path as outside.
	return ""
}

func below(path, base string) bool {
	return path == base || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}
