// Package sandboxd serves the newer runtime API of agent-sandbox (docs/reference/runtime.md#sandboxd): files over HTTP. The
// package rpc has its processes.
package sandboxd

import (
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"sandlot.dev/runtime/internal/agentsandbox"
	"sandlot.dev/runtime/internal/httpx"
)

// Guard lets calls of gRPC and Connect in if the gate does, and bounds how long their bodies may be silent.
func Guard(gate *agentsandbox.Gate, next http.Handler) http.Handler {
	errorWriter := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpx.Patient(w, r)
		reason := gate.ClosedReason(r)
		switch {
		case reason == "":
			next.ServeHTTP(w, r)
		case errorWriter.IsSupported(r):
			_ = errorWriter.Write(w, r, connect.NewError(connect.CodePermissionDenied, errors.New(reason)))
		default:
			refuse(w, http.StatusForbidden, permissionDenied, reason)
		}
	})
}
