package tell

import (
	"sync"

	"sandlot.dev/egress/internal/rules"
)

const (
	// maxTenants bounds the pairs of namespace and template that have series of their own.
	maxTenants = 100
	// otherTenants stands for those beyond the bound, noTemplate for a sandbox that has none, and unknownSource for no sandbox.
	otherTenants  = "other"
	noTemplate    = "none"
	unknownSource = "unknown"
)

type tenant struct{ namespace, template string }

// tenants bounds labels whose values users choose. A pair that has series of its own keeps them until the process ends.
type tenants struct {
	reserved map[string]struct{}
	mutex    sync.Mutex
	kept     map[tenant]struct{}
}

func newTenants(templates []string) *tenants {
	made := &tenants{reserved: map[string]struct{}{}, kept: map[tenant]struct{}{}}
	for _, template := range templates {
		made.reserved[template] = struct{}{}
	}
	return made
}

// label returns the namespace and the template of a sandbox as labels.
func (t *tenants) label(sandbox *rules.Sandbox) (namespace, template string) {
	if sandbox == nil {
		return unknownSource, noTemplate
	}
	asked := tenant{sandbox.Namespace, sandbox.Template}
	if asked.template == "" {
		asked.template = noTemplate
	}
	if t.keeps(asked) {
		return asked.namespace, asked.template
	}
	if _, isReserved := t.reserved[asked.template]; isReserved {
		return otherTenants, asked.template
	}
	return otherTenants, otherTenants
}

func (t *tenants) keeps(asked tenant) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if _, isKept := t.kept[asked]; isKept {
		return true
	}
	if len(t.kept) >= maxTenants {
		return false
	}
	t.kept[asked] = struct{}{}
	return true
}
