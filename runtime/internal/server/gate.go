package server

import (
	"crypto/subtle"
	"net/http"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/state"
)

// TokenHeader carries the access token.
const TokenHeader = "X-Access-Token"

// Gate decides which requests the daemon serves.
type Gate struct {
	store *state.Store
	// managed means that the installation signs /init. Before the first /init a managed daemon refuses every request;
	// without an installation, in debug mode, it serves every request.
	managed bool
}

// NewGate returns a gate that reads the token from the store.
func NewGate(store *state.Store, managed bool) *Gate { return &Gate{store: store, managed: managed} }

func (g *Gate) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		settings := g.store.Current()
		switch {
		case r.URL.Path == TunnelPath && g.managed && !settings.Initialized:
			// The sandbox is unclaimed, so no client of the gateway has a right to its loopback.
			httpx.WriteError(w, httpx.Fail(http.StatusUnauthorized, "the sandbox has not been initialised yet"))
			return
		case isOpen(r):
		case settings.AccessToken != "":
			if !SameToken(r.Header.Get(TokenHeader), settings.AccessToken) {
				httpx.WriteError(w, httpx.Fail(http.StatusUnauthorized, "the header X-Access-Token is missing or wrong"))
				return
			}
		case g.managed && !settings.Initialized:
			httpx.WriteError(w, httpx.Fail(http.StatusUnauthorized, "the sandbox has not been initialised yet"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOpen reports whether a route needs no token, as its answer is of no use to a stranger, or checks its caller itself, as the tunnel does.
func isOpen(r *http.Request) bool {
	switch r.URL.Path {
	case "/health":
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case "/init", ProvePath:
		return r.Method == http.MethodPost
	case "/files":
		return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost
	case TunnelPath:
		return r.Method == http.MethodGet
	}
	return false
}

// SameToken compares two tokens in constant time.
func SameToken(given, expected string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(expected)) == 1
}
