package addresses

import (
	"net/netip"
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestRevealsTheAddressInside(t *testing.T) {
	for text, want := range map[string][]string{
		"192.0.2.1":                {"192.0.2.1"},
		"::ffff:10.0.0.1":          {"10.0.0.1"},
		"2001:db8::1":              {"2001:db8::1"},
		"fe80::1%eth0":             {"fe80::1"},
		"64:ff9b::10.0.0.1":        {"64:ff9b::a00:1", "10.0.0.1"},
		"64:ff9b:1::a9fe:a9fe":     {"64:ff9b:1::a9fe:a9fe", "169.254.169.254"},
		"2002:a00:1::":             {"2002:a00:1::", "10.0.0.1"},
		"2001:0:1:2:3:4:f5ff:fffe": {"2001:0:1:2:3:4:f5ff:fffe", "10.0.0.1"},
		"::10.0.0.1":               {"::a00:1", "10.0.0.1"},
	} {
		var got []string
		for _, address := range Reveal(netip.MustParseAddr(text)) {
			got = append(got, address.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s reveals %v, want %v", text, got, want)
		}
	}
}

func TestAnAddressOfTheInternetHidesNoOther(t *testing.T) {
	for text, want := range map[string]bool{
		"192.0.3.1": true, "2606:4700::1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "10.1.2.3": false, "169.254.169.254": false, "100.100.0.1": false, "0.0.0.0": false, "255.255.255.255": false,
		"::1": false, "::": false, "fd00::1": false, "fe80::1%eth0": false, "::ffff:10.0.0.1": false, "64:ff9b::8.8.8.8": false, "2002:a00:1::": false,
	} {
		if got := IsPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if IsPublic(netip.Addr{}) {
		t.Error("no address is one of the internet")
	}
}

// NetworkPolicies, the proxy of sandboxes and the builder of templates close the same blocks.
func TestTheBlocksAreThoseOfNetworkPolicies(t *testing.T) {
	text, err := os.ReadFile("../../libs/api-types/src/egress/blocked-addresses.ts")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, found := range regexp.MustCompile(`(?m)^ {2}'(.*)',$`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, found[1])
	}
	var got []string
	for _, each := range closed {
		got = append(got, each.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the blocks are %q, want %q", got, want)
	}
}
