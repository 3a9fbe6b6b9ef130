package server

import (
	"net/http"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/state"
)

// Health returns the handler of GET /health.
func Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Envd-Version", config.Version)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	})
}

// Envs returns the handler of GET /envs: the environment of /init, which may contain secrets.
func Envs(store *state.Store) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		vars := store.Current().EnvVars
		if vars == nil {
			vars = map[string]string{}
		}
		w.Header().Set("Cache-Control", "no-store")
		httpx.WriteJSON(w, http.StatusOK, vars)
	})
}
