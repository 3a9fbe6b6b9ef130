package server

import (
	"crypto/subtle"
	"net/http"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/state"
)

// TokenHeader carries the access token.
const TokenHeader = "X-Access-Token"

// Gate decides who may call the daemon.
type Gate struct {
	store *state.Store
	// managed says that /init comes signed from the installation. Until it came nobody has a token, and then nobody is
	// let in; without an installation, in debug mode, everybody is.
	managed bool
}

// NewGate makes a gate over the settings.
func NewGate(store *state.Store, managed bool) *Gate { return &Gate{store: store, managed: managed} }

func (g *Gate) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		settings := g.store.Current()
		switch {
		case open(r):
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

// open names the routes with a rule of their own or none. The tunnel is for the gateway, which the network admits
// alone, and leads to nothing but the tenant's own servers.
func open(r *http.Request) bool {
	switch r.URL.Path {
	case "/health":
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case "/init":
		return r.Method == http.MethodPost
	case "/files":
		return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost
	case TunnelPath:
		return r.Method == http.MethodGet
	}
	return false
}

// SameToken compares in constant time.
func SameToken(given, expected string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(expected)) == 1
}
