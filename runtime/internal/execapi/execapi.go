// Package execapi serves the runtime API of the Kubernetes agent-sandbox SDK on port 8888
// (docs/reference/runtime.md#agent-sandbox-api). The API has no tokens: the gate opens it only in sandboxes that are used
// through it, and in those without a claim only to the gateway; in the others a NetworkPolicy admits only the gateway.
package execapi

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/agentsandbox"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/process"
)

// Service serves the API.
type Service struct {
	Root  agentsandbox.Root
	Table *process.Table
	// Timeout is the limit of a command whose request has none.
	Timeout time.Duration
	// Argv splits commands into words instead of running them in a shell.
	Argv bool
	// Gate decides whether the API answers in this sandbox.
	Gate *agentsandbox.Gate
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
	if reason := s.Gate.ClosedReason(r); reason != "" && route != "" {
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
