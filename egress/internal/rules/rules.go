// Package rules says what a sandbox may reach, and decides over a name that it asks for. It reads and writes nothing.
package rules

import (
	"net/netip"
	"slices"

	"sandlot.dev/egress/internal/names"
)

// Sandbox is what holds for one Pod.
type Sandbox struct {
	UID       string
	Namespace string
	// Template is the name of its template, or empty.
	Template string
	// Claim is the name of the claim that has the sandbox, or empty.
	Claim    string
	ClaimUID string
	// Closed means that names reach the proxy only if they are in Names. An open sandbox reaches the internet without the proxy, and
	// comes here for the hosts of its rules.
	Closed bool
	// Observe lets a closed sandbox reach every name, and records what Names does not have.
	Observe bool
	Names   []names.Pattern
	Rules   []Rule
	// Within are the blocks of addresses that the template opens, each without what it excepts.
	Within []Block
	// Denied are blocks that the claim closes, also for names that the list does not have.
	Denied []netip.Prefix
	// Proofs are the keys by which the daemon of the sandbox may prove who it is: two while the installation changes its key. Empty if
	// it has none.
	Proofs [][]byte
}

// Block is a block of addresses without some, on some ports. No port means all.
type Block struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
	Ports  []PortRange
}

// PortRange has its first and its last port.
type PortRange struct{ First, Last uint16 }

func (b Block) contains(target netip.AddrPort) bool {
	hasPort := func(each PortRange) bool { return target.Port() >= each.First && target.Port() <= each.Last }
	hasAddress := func(prefix netip.Prefix) bool { return prefix.Contains(target.Addr()) }
	return b.CIDR.Contains(target.Addr()) && !slices.ContainsFunc(b.Except, hasAddress) &&
		(len(b.Ports) == 0 || slices.ContainsFunc(b.Ports, hasPort))
}

// Rule sets headers in requests to a host.
type Rule struct {
	Host    names.Pattern
	Methods []string
	Paths   []string
	Headers []Header
}

// Header is one that a rule sets.
type Header struct {
	Name string
	// Value is a text that is no secret, or the text into which the value of Ref goes in place of {}.
	Value string
	// Ref names the value in the state, or is empty.
	Ref string
}

// Reason says why a name is allowed or refused. It is a label of metrics.
type Reason string

const (
	Allowed       Reason = "allowed"
	Observed      Reason = "observed"
	NotListed     Reason = "not_listed"
	NoSandbox     Reason = "unknown_source"
	NotOnThisPort Reason = "port"
	// Unclaimed is a name for a sandbox that has neither a claim nor a list: it reaches the internet without the proxy. Its claim may
	// have a list that the watch has not shown yet.
	Unclaimed Reason = "unclaimed"
	// Reserved is a name that no list can have.
	Reserved Reason = "reserved"
	// Unreachable, ClientGone and HandshakeRefused say that a connection came to nothing although it was allowed.
	Unreachable      Reason = "upstream"
	ClientGone       Reason = "client_gone"
	HandshakeRefused Reason = "handshake_refused"
)

// Decision says what the reason comes to: allowed, observed, refused, or failed although it was allowed.
func (r Reason) Decision() string {
	switch r {
	case Allowed, Observed:
		return string(r)
	case Unreachable, ClientGone, HandshakeRefused:
		return "failed"
	}
	return "refused"
}

// Decision is what holds for a connection to a name.
type Decision struct {
	Allowed bool
	Reason  Reason
	// Entry is the pattern of the list that allowed the name.
	Entry string
	// Rule is set if the connection has to be looked into.
	Rule *Rule
}

// Decide says whether the sandbox may reach the normalised name on a port, and by which rule.
func (s *Sandbox) Decide(host string, port uint16) Decision {
	decision := s.decideName(host, port)
	if decision.Allowed {
		decision.Rule = s.FindRule(host)
	}
	return decision
}

func (s *Sandbox) decideName(host string, port uint16) Decision {
	if !s.Closed {
		if s.ClaimUID == "" {
			return Decision{Reason: Unclaimed}
		}
		return Decision{Allowed: true, Reason: Allowed}
	}
	if names.IsReserved(host) {
		return Decision{Reason: Reserved}
	}
	index := slices.IndexFunc(s.Names, func(pattern names.Pattern) bool { return pattern.Matches(host, port) })
	if index >= 0 {
		return Decision{Allowed: true, Reason: Allowed, Entry: s.Names[index].String()}
	}
	if s.Observe {
		return Decision{Allowed: true, Reason: Observed}
	}
	if s.HasName(host) {
		return Decision{Reason: NotOnThisPort}
	}
	return Decision{Reason: NotListed}
}

// HasName says whether the list has the normalised name on some port, so that it is worth an answer of the resolver.
func (s *Sandbox) HasName(host string) bool {
	return slices.ContainsFunc(s.Names, func(pattern names.Pattern) bool { return pattern.MatchesName(host) })
}

// FindRule returns the closest rule for a normalised name, or nil.
func (s *Sandbox) FindRule(host string) *Rule {
	var found *Rule
	for index := range s.Rules {
		rule := &s.Rules[index]
		if rule.Host.MatchesName(host) && (found == nil || rule.Host.Beats(found.Host)) {
			found = rule
		}
	}
	return found
}

// IsWithin says whether the template and the claim let the sandbox reach a target. A name of the list beats what the claim denies,
// and never the template.
func (s *Sandbox) IsWithin(target netip.AddrPort, isListed bool) bool {
	isDenied := slices.ContainsFunc(s.Denied, func(prefix netip.Prefix) bool { return prefix.Contains(target.Addr()) })
	if isDenied && !isListed {
		return false
	}
	return slices.ContainsFunc(s.Within, func(block Block) bool { return block.contains(target) })
}
