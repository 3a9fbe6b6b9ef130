package front

import (
	"math"
	"net"
	"net/netip"

	"sandlot.dev/egress/internal/conns"
	"sandlot.dev/egress/internal/dial"
	"sandlot.dev/egress/internal/rules"
)

// newDialled makes the register of connections to upstreams that requests share. Those of clients are bounded elsewhere.
func newDialled(find conns.Find) *conns.Register {
	return conns.New(conns.Limits{Open: math.MaxInt, PerSecond: 1}, find)
}

// keep registers a connection that requests will share. It ends once the sandbox may no longer reach its name, or its address.
func (f *Front) keep(conn net.Conn, to visit) (net.Conn, error) {
	entry, err := f.dialled.Add(to.source, conn, f.holdsAddress(to, conn))
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &hooked{Conn: conn, onClose: entry.Remove}, nil
}

// holdsAddress keeps a connection while the sandbox may reach its name, and by that the address to which it leads: the address was
// checked by the rules of the moment when it was dialled.
func (f *Front) holdsAddress(v visit, upstream net.Conn) conns.Holds {
	address := addressOf(upstream)
	return func(now *rules.Sandbox) bool {
		decision, same := v.redecide(now)
		if !same || !decision.Allowed {
			return false
		}
		current := v
		current.sandbox = now
		return dial.Allows(address, f.isWithin(current))
	}
}

func addressOf(upstream net.Conn) netip.Addr {
	remote, err := netip.ParseAddrPort(upstream.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return remote.Addr()
}
