package execapi

import "sandlot.dev/runtime/internal/state"

// Gate decides whether the API answers. Everything that reaches the port may use the API, so it stays closed until
// /init says that the sandbox is used through it. A sandbox of an E2B client never is.
type Gate struct {
	Store *state.Store
	// Managed means that the installation signs /init. Without an installation, in debug mode, the API is open.
	Managed bool
	// Open applies until /init says something about the API.
	Open bool
}

// closedReason returns why the API refuses to answer; empty: it answers.
func (g *Gate) closedReason() string {
	switch settings := g.Store.Current(); {
	case !g.Managed:
		return ""
	case settings.Exec != nil && !*settings.Exec:
		return "this sandbox is not used by the agent-sandbox API: it was made for E2B clients"
	case settings.Exec != nil || g.Open:
		return ""
	}
	return "the sandbox has not been initialised yet, or not for the agent-sandbox API"
}
