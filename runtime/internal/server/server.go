// Package server assembles the routes of port 49983, with their gate and CORS
// (docs/reference/runtime.md#http-endpoints).
package server

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/httpx"
)

const (
	// ReadHeaderTimeout closes connections that never finish their request headers.
	ReadHeaderTimeout = 30 * time.Second
	// idleTimeout is longer than the 640 s for which proxies keep idle connections. If the daemon closed first, it
	// could cut off a request that is under way.
	idleTimeout    = 660 * time.Second
	maxHeaderBytes = 64 << 10
)

// Route is a path with its handler; a path that ends in a slash includes all paths below it.
type Route struct {
	Path    string
	Handler http.Handler
}

// New returns the HTTP server of a port.
func New(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           recoverPanics(handler),
		ReadHeaderTimeout: ReadHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// recoverPanics keeps a panic in one request from ending the daemon, and logs it.
func recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			failure := recover()
			if failure == nil {
				return
			}
			if failure != http.ErrAbortHandler {
				slog.Error("a request failed", "path", r.URL.Path, "panic", failure, "stack", string(debug.Stack()))
			}
			// Part of the answer may be sent already, so the connection is closed instead.
			panic(http.ErrAbortHandler)
		}()
		next.ServeHTTP(w, r)
	})
}

// cors lets pages of any origin call the daemon, which relies on its token and not on cookies. A preflight has no
// token, so it is answered before the gate.
func cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "" {
			next.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", "*")
		header.Set("Access-Control-Expose-Headers", "*")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		// The wildcard does not include Authorization, so the requested headers are named.
		allowed := r.Header.Get("Access-Control-Request-Headers")
		if allowed == "" {
			allowed = "*"
		}
		header.Set("Access-Control-Allow-Headers", allowed)
		header.Set("Access-Control-Max-Age", "7200")
		header.Add("Vary", "Access-Control-Request-Headers")
		w.WriteHeader(http.StatusNoContent)
	})
}

// Envd returns the handler of port 49983.
func Envd(gate *Gate, routes []Route) http.Handler {
	return cors(gate.admit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, route := range routes {
			if r.URL.Path == route.Path || strings.HasSuffix(route.Path, "/") && strings.HasPrefix(r.URL.Path, route.Path) {
				route.Handler.ServeHTTP(w, r)
				return
			}
		}
		httpx.WriteError(w, httpx.Fail(http.StatusNotFound, "no such route: "+r.URL.Path))
	})))
}

// Only admits one method.
func Only(method string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			httpx.WriteError(w, httpx.Fail(http.StatusMethodNotAllowed, r.Method+" is not allowed here, only "+method))
			return
		}
		next.ServeHTTP(w, r)
	})
}
