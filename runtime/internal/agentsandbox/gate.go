// Package agentsandbox has what both dialects of agent-sandbox share, execapi on port 8888 and sandboxd on 8080 and 9090: who
// may call them, which user and folder requests are for, and how a command runs to its end.
package agentsandbox

import (
	"net/http"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/proof"
	"sandlot.dev/runtime/internal/state"
)

// Gate decides whether the APIs answer. They have no tokens, so they stay closed until /init says that the sandbox is used
// through them. A sandbox of an E2B client never is. Where no NetworkPolicy guards the ports, and in a sandbox that is
// never initialised, they ask for the proof of the gateway, which has checked the client.
type Gate struct {
	Store *state.Store
	// Managed means that the installation signs /init. Without an installation, in debug mode, the APIs are open.
	Managed bool
	// Access applies until /init says something about the APIs.
	Access config.ExecAccess
	// NeedsProof asks for the proof of the gateway after /init, too.
	NeedsProof bool
	// Gateway recognises what the gateway sends.
	Gateway *proof.Verifier
}

// ClosedReason returns why the APIs refuse to answer a request; empty: they answer.
func (g *Gate) ClosedReason(r *http.Request) string {
	switch settings := g.Store.Current(); {
	case !g.Managed:
		return ""
	case settings.Exec != nil && !*settings.Exec:
		return "this sandbox is not used by the agent-sandbox API: it was made for E2B clients"
	case settings.Exec != nil && g.NeedsProof:
		return g.foreignReason(r, "no NetworkPolicy guards this sandbox")
	case settings.Exec != nil || g.Access == config.ExecByAll:
		return ""
	case g.Access == config.ExecByGateway:
		return g.foreignReason(r, "this sandbox has no claim")
	}
	return "the sandbox has not been initialised yet, or not for the agent-sandbox API"
}

// foreignReason returns why a caller may not use a sandbox that is open to the gateway only. Code in the Pod may: it runs
// in the sandbox anyway. So may a user who forwards a port, because that user may run commands as well.
func (g *Gate) foreignReason(r *http.Request, why string) string {
	if proof.IsFromInside(r) || g.Gateway.IsFromGateway(r) {
		return ""
	}
	return why + ": its agent-sandbox API answers the gateway and callers inside its Pod"
}
