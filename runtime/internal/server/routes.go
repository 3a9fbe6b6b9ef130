package server

import (
	"net/http"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/session"
)

// Health returns the handler of GET /health.
func Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Envd-Version", config.Version)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	})
}

// Envs returns the handler of GET /envs: the marks of the sandbox and the environment of /init, which may contain secrets. A kernel of the
// code interpreter, which runs before the sandbox has an id, reads both here.
func Envs(s *session.Session) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		httpx.WriteJSON(w, http.StatusOK, s.SandboxEnv())
	})
}
