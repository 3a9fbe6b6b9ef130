// Package addresses knows which addresses hide others, and which are not the internet.
package addresses

import "net/netip"

var (
	sixToFour = netip.MustParsePrefix("2002::/16")
	teredo    = netip.MustParsePrefix("2001::/32")
	// nat64 has the well-known block and the one for local use.
	nat64 = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48")}
	// compatible are the IPv4-compatible addresses, which RFC 4291 deprecates.
	compatible = netip.MustParsePrefix("::/96")
)

// Reveal returns the address itself without a zone and, if it carries one of IPv4 to which a translator on the way would send the
// packets, that address too.
func Reveal(address netip.Addr) []netip.Addr {
	address = address.WithZone("").Unmap()
	if address.Is4() {
		return []netip.Addr{address}
	}
	if inner, found := findInner(address); found {
		return []netip.Addr{address, inner}
	}
	return []netip.Addr{address}
}

func findInner(address netip.Addr) (netip.Addr, bool) {
	bytes := address.As16()
	switch {
	case sixToFour.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	case teredo.Contains(address):
		var client [4]byte
		for index, each := range bytes[12:] {
			client[index] = ^each
		}
		return netip.AddrFrom4(client), true
	case nat64[0].Contains(address), nat64[1].Contains(address), compatible.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[12:])), true
	}
	return netip.Addr{}, false
}
