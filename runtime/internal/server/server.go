// Package server puts the routes of port 49983 together: who may call them, and CORS around them.
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
	// readHeaderTimeout ends connections that never finish their request head.
	readHeaderTimeout = 30 * time.Second
	// idleTimeout is longer than the 640 s for which proxies in front keep idle connections, so that it is never this
	// side that closes one just as a request arrives on it.
	idleTimeout    = 660 * time.Second
	maxHeaderBytes = 64 << 10
)

// Route is a handler and its path; a path that ends in a slash stands for all below it.
type Route struct {
	Path    string
	Handler http.Handler
}

// New makes the HTTP server of a port.
func New(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           recovering(handler),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
}

// recovering keeps one bad request from ending the daemon, and says where it went wrong.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			failure := recover()
			if failure == nil {
				return
			}
			if failure != http.ErrAbortHandler {
				slog.Error("a request failed", "path", r.URL.Path, "panic", failure, "stack", string(debug.Stack()))
			}
			// The answer may have begun: closing the connection is the only honest end.
			panic(http.ErrAbortHandler)
		}()
		next.ServeHTTP(w, r)
	})
}

// cors lets pages of any origin call the daemon, which is guarded by its token and not by cookies. A preflight carries
// no token, so it is answered first.
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
		// A wildcard does not cover Authorization, so the headers asked for are named.
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

// Envd is the handler of port 49983.
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
