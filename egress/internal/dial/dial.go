// Package dial opens connections to names for a sandbox, and to no address that the sandbox may not reach.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"sandlot.dev/egress/addresses"
)

const (
	// attemptLimit is the time for one address, so that one that does not answer leaves time for the next.
	attemptLimit = 5 * time.Second
	// dialLimit is the time for all of them.
	dialLimit = 15 * time.Second
	maxTries  = 4
)

// ErrForbidden says that the name has addresses, and that the sandbox may reach none of them.
var ErrForbidden = errors.New("the name leads to addresses that this sandbox may not reach")

// Lookup returns the addresses of a name.
type Lookup func(ctx context.Context, name string) ([]netip.Addr, error)

// Check says whether an address may be dialled.
type Check func(address netip.Addr) bool

// Dialer dials what it has checked: there is no second look-up between the two.
type Dialer struct {
	lookup Lookup
	dialer net.Dialer
}

// New makes a dialer. No address for which isBlocked is true is dialled, also if a Check has let it through.
func New(lookup Lookup, isBlocked Check) *Dialer {
	control := func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return refuse(target.Addr(), isBlocked)
	}
	return &Dialer{lookup: lookup, dialer: net.Dialer{Timeout: attemptLimit, Control: control}}
}

func refuse(address netip.Addr, isBlocked Check) error {
	for _, each := range addresses.Reveal(address) {
		if isBlocked(each) {
			return ErrForbidden
		}
	}
	return nil
}

// Dial connects to a port of a normalised name, by the first of its addresses that answers.
func (d *Dialer) Dial(ctx context.Context, name string, port uint16, isAllowed Check) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	found, err := d.lookup(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	open := filter(found, isAllowed)
	if len(open) == 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrForbidden)
	}
	errs := make([]error, 0, len(open))
	for _, address := range open {
		conn, err := d.dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(address, port).String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%s: %w", name, errors.Join(errs...))
}

func filter(found []netip.Addr, isAllowed Check) []netip.Addr {
	var open []netip.Addr
	for _, address := range found {
		if Allows(address, isAllowed) && len(open) < maxTries {
			open = append(open, address.WithZone("").Unmap())
		}
	}
	return open
}

// Allows says whether neither the address itself nor one inside it is refused.
func Allows(address netip.Addr, isAllowed Check) bool {
	for _, each := range addresses.Reveal(address) {
		if !isAllowed(each) {
			return false
		}
	}
	return true
}
