package execapi

import "sandlot.dev/runtime/internal/state"

// Gate says whether the API is for this sandbox. Whoever reaches the port may use it, so it is closed unless the
// installation said that the sandbox is used by it: one that was made for E2B clients is not.
type Gate struct {
	Store *state.Store
	// Managed says that the installation speaks to the daemon by signature; without one everything is open, in debug mode.
	Managed bool
	// Open is what holds while the installation has said nothing.
	Open bool
}

// closed is why the API does not answer, for whoever asked; empty when it does.
func (g *Gate) closed() string {
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
