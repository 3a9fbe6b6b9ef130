// Package front takes the connections of sandboxes: TLS, plain HTTP, and CONNECT.
package front

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"time"

	"sandlot.dev/egress/internal/conns"
	"sandlot.dev/egress/internal/dial"
	"sandlot.dev/egress/internal/identity"
	"sandlot.dev/egress/internal/inject"
	"sandlot.dev/egress/internal/mint"
	"sandlot.dev/egress/internal/names"
	"sandlot.dev/egress/internal/resolve"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/internal/state"
	"sandlot.dev/egress/internal/tell"
)

const (
	// holdLimit is how long a connection from an address waits until the watch knows its Pod.
	holdLimit  = time.Second
	helloLimit = 10 * time.Second
	// lineLimit is the time for the headers of a request.
	lineLimit      = 5 * time.Second
	handshakeLimit = 10 * time.Second
	maxHeaders     = 64 << 10
	maxAnswer      = 1 << 20
)

// Options are what an operator chooses.
type Options struct {
	// Idle ends connections over which nothing comes.
	Idle time.Duration
	// Headers is how long an upstream may take until its headers come.
	Headers time.Duration
	// TLSPorts may be named by CONNECT, and HTTPPorts by a plain request to the proxy.
	TLSPorts, HTTPPorts []uint16
	// InspectAll ends the TLS of every host, not only of those with a rule.
	InspectAll bool
	// Plaintext lets rules hold for plain HTTP.
	Plaintext bool
	// ByAddress takes the address of a Pod for a proof that it is the sandbox's.
	ByAddress bool
}

// Front is safe for concurrent use.
type Front struct {
	Options
	Parts
	upstreams *upstreams
	// dialled has the connections of upstreams.
	dialled *conns.Register
	// looked takes the connections whose TLS was ended.
	looked  *handover
	servers serverList
}

// Parts are what a front works with.
type Parts struct {
	Store    *state.Store
	Register *conns.Register
	Dialer   *dial.Dialer
	Prover   *identity.Prover
	Mint     *mint.Mint
	Teller   *tell.Teller
	Metrics  *tell.Metrics
	// Roots are the authorities of upstreams. Nil means those of the system.
	Roots *x509.CertPool
}

// New makes a front.
func New(options Options, parts Parts) *Front {
	front := &Front{Options: options, Parts: parts, looked: newHandover()}
	front.upstreams = newUpstreams(front)
	front.dialled = newDialled(parts.Store.Find)
	return front
}

// visit is a connection of a sandbox to a name.
type visit struct {
	sandbox *rules.Sandbox
	source  netip.Addr
	host    string
	port    uint16
	begun   time.Time
	// proven means that the daemon of the sandbox has proven who it is over this connection.
	proven bool
	// unproven is why it has not. It is asked once for a connection, which may carry many requests at a time.
	unproven error
}

func (v visit) event(protocol tell.Protocol, reason rules.Reason) tell.Event {
	return tell.Event{
		Sandbox: v.sandbox, Source: v.source.String(), Protocol: protocol, Host: v.host, Port: v.port, Reason: reason, Took: time.Since(v.begun),
	}
}

// Reasons beside those of the rules.
const (
	noName    rules.Reason = "no_name"
	otherName rules.Reason = "other_name"
	tooMany   rules.Reason = "limit"
	changed   rules.Reason = "rules_changed"
	forbidden rules.Reason = "forbidden_address"
	unproven  rules.Reason = "not_proven"
)

// identify returns the sandbox of a connection, or false if it has to be closed.
func (f *Front) identify(ctx context.Context, conn net.Conn, protocol tell.Protocol) (visit, bool) {
	visit := visit{source: sourceOf(conn), begun: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, holdLimit)
	defer cancel()
	visit.sandbox = f.Store.Await(ctx, visit.source)
	if visit.sandbox == nil {
		f.Metrics.Unknown.WithLabelValues(string(protocol)).Inc()
		f.Teller.Record(visit.event(protocol, rules.NoSandbox))
		return visit, false
	}
	if f.Register.Admit(visit.source) != nil {
		f.Teller.Record(visit.event(protocol, tooMany))
		return visit, false
	}
	return visit, true
}

func sourceOf(conn net.Conn) netip.Addr {
	source, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return source.Addr().Unmap()
}

func portOf(conn net.Conn) uint16 {
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return 0
	}
	return local.Port()
}

// decide reads the name and decides over it. The normalised name is empty if there is none.
func (v *visit) decide(name string) rules.Decision {
	host, err := names.Normalise(name)
	if err != nil {
		return rules.Decision{Reason: noName}
	}
	v.host = host
	return v.sandbox.Decide(host, v.port)
}

// isSame says whether the address is still that of the sandbox and of its claim.
func (v visit) isSame(now *rules.Sandbox) bool {
	return now != nil && now.UID == v.sandbox.UID && now.ClaimUID == v.sandbox.ClaimUID
}

// holdsPassed keeps a connection whose TLS is not opened: its name and address are allowed, and no rule wants to see it.
func (f *Front) holdsPassed(v visit, upstream net.Conn) conns.Holds {
	holdsAddress := f.holdsAddress(v, upstream)
	return func(now *rules.Sandbox) bool { return holdsAddress(now) && now.FindRule(v.host) == nil }
}

// holdsLooked keeps a connection whose TLS was ended. One that had a rule ends with it, and one that had its values with these.
func (v visit) holdsLooked(rule *rules.Rule, lookup inject.Lookup) conns.Holds {
	hasValues := func(rule *rules.Rule) bool {
		if rule == nil {
			return false
		}
		_, err := inject.Resolve(rule, lookup)
		return err == nil
	}
	hadValues := hasValues(rule)
	return func(now *rules.Sandbox) bool {
		decision, same := v.redecide(now)
		return same && decision.Allowed && (decision.Rule != nil) == (rule != nil) && (!hadValues || hasValues(decision.Rule))
	}
}

// holdsPlain keeps a request over plain HTTP.
func (v visit) holdsPlain(now *rules.Sandbox) bool {
	decision, same := v.redecide(now)
	return same && decision.Allowed
}

func (v visit) redecide(now *rules.Sandbox) (rules.Decision, bool) {
	if !v.isSame(now) {
		return rules.Decision{}, false
	}
	return now.Decide(v.host, v.port), true
}

// isWithin says which addresses the sandbox may reach by the name.
func (f *Front) isWithin(v visit) dial.Check {
	isListed := v.sandbox.HasName(v.host)
	return func(address netip.Addr) bool {
		return !f.Store.IsBlocked(address) && v.sandbox.IsWithin(netip.AddrPortFrom(address, v.port), isListed)
	}
}

func (f *Front) dial(ctx context.Context, v visit) (net.Conn, error) {
	begun := time.Now()
	conn, err := f.Dialer.Dial(ctx, v.host, v.port, f.isWithin(v))
	if err != nil {
		f.Metrics.DialFailures.WithLabelValues(failureOf(ctx, err)).Inc()
		return nil, err
	}
	f.Metrics.Dials.Observe(time.Since(begun).Seconds())
	return conn, nil
}

func failureOf(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return tell.Left
	case errors.Is(err, dial.ErrForbidden):
		return tell.Forbidden
	case errors.Is(err, resolve.ErrNoAddress):
		return tell.NoAddress
	case errors.Is(err, resolve.ErrNoAnswer):
		return tell.NoAnswer
	}
	return tell.Unreachable
}

func reasonOf(err error) rules.Reason {
	switch {
	case errors.Is(err, dial.ErrForbidden):
		return forbidden
	case errors.Is(err, conns.ErrTooMany):
		return tooMany
	case errors.Is(err, conns.ErrChanged):
		return changed
	case errors.Is(err, identity.ErrNotProven):
		return unproven
	case errors.Is(err, context.Canceled):
		return rules.ClientGone
	}
	return rules.Unreachable
}
