package guard

import (
	"net/netip"
	"testing"
)

func TestReachesPrivateAddressesOnlyWhereAllowed(t *testing.T) {
	open := Policy{Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for text, want := range map[string][2]bool{
		"1.1.1.1": {true, true}, "10.1.2.3": {false, true}, "::ffff:10.1.2.3": {false, true}, "10.2.0.1": {false, false},
		"169.254.169.254": {false, false}, "127.0.0.1": {false, false}, "::1": {false, false}, "fd00::1": {false, false},
		"64:ff9b::10.1.2.3": {false, false}, "2606:4700::1": {true, true},
	} {
		address := netip.MustParseAddr(text)
		if got := [2]bool{Policy{}.AllowsAddress(address), open.AllowsAddress(address)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestKnowsRegistriesByPattern(t *testing.T) {
	for pattern, rows := range map[string]map[string]bool{
		"*":           {"index.docker.io": true, "a.test:5000": true},
		"docker.io":   {"index.docker.io": true, "docker.io.test": false},
		"*.pkg.dev":   {"eu.pkg.dev": true, "pkg.dev": false, "eu.pkg.dev:444": false, "eu.pkg.dev.test": false},
		"a.test:5000": {"a.test:5000": true, "a.test": false},
	} {
		if err := CheckPattern(pattern); err != nil {
			t.Error(err)
		}
		for host, want := range rows {
			if got := (Policy{Registries: []string{pattern}}).AllowsRegistry(host); got != want {
				t.Errorf("%s: %s: %v", pattern, host, got)
			}
		}
	}
	for _, bad := range []string{"", "[", "a.test/x"} {
		if CheckPattern(bad) == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}
