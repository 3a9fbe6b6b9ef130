package addresses

import (
	"net/netip"
	"slices"
)

// closed are the blocks that are not the internet: private, shared, local, reserved, multicast, and those that embed addresses of IPv4.
// A test holds them to the list from which NetworkPolicies are made.
var closed = parse(
	"10.0.0.0/8",
	"172.16.0.0/12",
	"192.168.0.0/16",
	"169.254.0.0/16",
	"0.0.0.0/8",
	"100.64.0.0/10",
	"127.0.0.0/8",
	"192.0.0.0/24",
	"192.0.2.0/24",
	"192.88.99.0/24",
	"198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24",
	"224.0.0.0/4",
	"240.0.0.0/4",
	"fc00::/7",
	"fe80::/10",
	"::/8",
	"64:ff9b::/96",
	"64:ff9b:1::/48",
	"100::/64",
	"2001::/32",
	"2001:db8::/32",
	"2002::/16",
	"fec0::/10",
	"ff00::/8",
)

func parse(texts ...string) []netip.Prefix {
	var blocks []netip.Prefix
	for _, text := range texts {
		blocks = append(blocks, netip.MustParsePrefix(text))
	}
	return blocks
}

// IsPublic says whether the address, and one inside it, belong to the internet.
func IsPublic(address netip.Addr) bool {
	for _, each := range Reveal(address) {
		if !each.IsValid() || slices.ContainsFunc(closed, func(block netip.Prefix) bool { return block.Contains(each) }) {
			return false
		}
	}
	return true
}
