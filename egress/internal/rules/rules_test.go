package rules

import (
	"net/netip"
	"testing"

	"sandlot.dev/egress/internal/names"
)

func patterns(t *testing.T, texts ...string) []names.Pattern {
	t.Helper()
	var read []names.Pattern
	for _, text := range texts {
		pattern, err := names.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, pattern)
	}
	return read
}

func TestDecides(t *testing.T) {
	hosts := patterns(t, "api.example.com", "*.example.org:443")
	for name, test := range map[string]struct {
		sandbox Sandbox
		host    string
		port    uint16
		allowed bool
		reason  Reason
	}{
		"a listed name":                      {Sandbox{Closed: true, Names: hosts}, "api.example.com", 443, true, Allowed},
		"a name that is not listed":          {Sandbox{Closed: true, Names: hosts}, "example.com", 443, false, NotListed},
		"a name below a wildcard":            {Sandbox{Closed: true, Names: hosts}, "a.example.org", 443, true, Allowed},
		"a listed name on another port":      {Sandbox{Closed: true, Names: hosts}, "a.example.org", 80, false, NotOnThisPort},
		"anything for an open sandbox":       {Sandbox{ClaimUID: "c"}, "example.net", 443, true, Allowed},
		"nothing for an open one unclaimed":  {Sandbox{}, "example.net", 443, false, Unclaimed},
		"a listed name for one unclaimed":    {Sandbox{Closed: true, Names: hosts}, "api.example.com", 443, true, Allowed},
		"nothing for a closed empty list":    {Sandbox{Closed: true}, "example.net", 443, false, NotListed},
		"a reserved name under all names":    {Sandbox{Closed: true, Names: patterns(t, "*")}, "metadata.google.internal", 443, false, Reserved},
		"a reserved name while it observes":  {Sandbox{Closed: true, Observe: true}, "printer.local", 443, false, Reserved},
		"a reserved name when it is open":    {Sandbox{ClaimUID: "c"}, "printer.local", 443, true, Allowed},
		"an unlisted name while it observes": {Sandbox{Closed: true, Observe: true, Names: hosts}, "example.net", 443, true, Observed},
	} {
		got := test.sandbox.Decide(test.host, test.port)
		if got.Allowed != test.allowed || got.Reason != test.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAListedHostOfARuleHasIt(t *testing.T) {
	hosts := patterns(t, "*.example.com", "a.b.example.com", "*.b.example.com")
	sandbox := Sandbox{Closed: true, Names: hosts[:1], Rules: []Rule{{Host: hosts[0]}, {Host: hosts[1]}, {Host: hosts[2]}}}
	for host, want := range map[string]string{"x.example.com": "*.example.com", "a.b.example.com": "a.b.example.com", "x.b.example.com": "*.b.example.com"} {
		if got := sandbox.Decide(host, 443); got.Rule == nil || got.Rule.Host.String() != want {
			t.Errorf("%s has the rule %+v, want %s", host, got.Rule, want)
		}
	}
	if got := sandbox.Decide("example.com", 443); got.Allowed || got.Rule != nil {
		t.Errorf("the apex is %+v", got)
	}
}

func TestARuleAllowsNothing(t *testing.T) {
	sandbox := Sandbox{Closed: true, Rules: []Rule{{Host: patterns(t, "api.example.com")[0]}}}
	if got := sandbox.Decide("api.example.com", 443); got.Allowed || got.Rule != nil {
		t.Errorf("it is %+v", got)
	}
}

func TestAddressesStayWithinTheTemplate(t *testing.T) {
	prefix := netip.MustParsePrefix
	sandbox := Sandbox{
		Within: []Block{
			{CIDR: prefix("0.0.0.0/0"), Except: []netip.Prefix{prefix("10.0.0.0/8")}},
			{CIDR: prefix("10.9.0.0/16"), Ports: []PortRange{{80, 80}, {8000, 8999}}},
		},
		Denied: []netip.Prefix{prefix("203.0.113.0/24")},
	}
	for _, test := range []struct {
		address          string
		isListed, within bool
	}{
		{"198.51.100.1:443", false, true},
		{"10.1.2.3:443", true, false},
		{"203.0.113.9:443", false, false},
		{"203.0.113.9:443", true, true},
		{"[2001:db8::1]:443", true, false},
		{"10.9.0.1:443", true, false},
		{"10.9.0.1:80", true, true},
		{"10.9.0.1:8500", true, true},
		{"10.9.0.1:9000", true, false},
	} {
		if got := sandbox.IsWithin(netip.MustParseAddrPort(test.address), test.isListed); got != test.within {
			t.Errorf("%s (listed: %v) is %v", test.address, test.isListed, got)
		}
	}
}
