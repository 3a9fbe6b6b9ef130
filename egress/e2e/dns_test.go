// Package e2e tests the whole data plane over real connections, as sandboxes and upstreams meet it.
package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"sandlot.dev/egress/internal/planetest"
	"sandlot.dev/egress/internal/serve"
)

// ask asks the resolver from the address of a sandbox.
func ask(t *testing.T, plane *planetest.Plane, source, network, name string, kind uint16) *dns.Msg {
	t.Helper()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	question.SetEdns0(1232, false)
	var local net.Addr = &net.UDPAddr{IP: net.ParseIP(source)}
	if network == "tcp" {
		local = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	client := dns.Client{Net: network, Dialer: &net.Dialer{LocalAddr: local}, Timeout: 5 * time.Second}
	answer, _, err := client.Exchange(question, plane.DNS)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func format(answer *dns.Msg) string {
	texts := []string{dns.RcodeToString[answer.Rcode]}
	for _, record := range answer.Answer {
		texts = append(texts, strings.Join(strings.Fields(record.String())[1:], " "))
	}
	return strings.Join(texts, " | ")
}

func TestResolverOfAClosedSandbox(t *testing.T) {
	plane := planetest.Start(t, []string{"api.test.example", "passed.test.example"})
	plane.Allow(planetest.SandboxA, map[string]any{
		"names": []string{"api.test.example", "passed.test.example", "*.wild.example"},
		"rules": []any{map[string]any{"host": "api.test.example"}},
	})
	for _, network := range []string{"udp", "tcp"} {
		for _, test := range []struct {
			name string
			kind uint16
			want string
		}{
			{"passed.test.example", dns.TypeA, "NOERROR | 5 IN A 127.0.1.1"},
			{"PASSED.test.example", dns.TypeA, "NOERROR | 5 IN A 127.0.1.1"},
			{"api.test.example", dns.TypeA, "NOERROR | 5 IN A 127.0.1.2"},
			{"a.b.wild.example", dns.TypeA, "NOERROR | 5 IN A 127.0.1.1"},
			{"passed.test.example", dns.TypeAAAA, "NOERROR"},
			{"passed.test.example", dns.TypeHTTPS, "NOERROR"},
			{"passed.test.example", dns.TypeSVCB, "NOERROR"},
			{"passed.test.example", dns.TypeTXT, "NOERROR"},
			{"wild.example", dns.TypeA, "NXDOMAIN"},
			{"other.example", dns.TypeA, "NXDOMAIN"},
			{"other.example", dns.TypeHTTPS, "NXDOMAIN"},
			{"example", dns.TypeA, "NXDOMAIN"},
			{"1.2.0.192.in-addr.arpa", dns.TypePTR, "NXDOMAIN"},
		} {
			if got := format(ask(t, plane, planetest.SandboxA, network, test.name, test.kind)); got != test.want {
				t.Errorf("%s %s over %s: %s, want %s", test.name, dns.TypeToString[test.kind], network, got, test.want)
			}
		}
	}
	if asked := plane.Names.Questions(); len(asked) > 0 {
		t.Errorf("the DNS server was asked for %v", asked)
	}
}

func TestReservedNamesDoNotExistUnderAllNames(t *testing.T) {
	plane := planetest.Start(t, nil)
	for _, allowed := range []map[string]any{{"names": []string{"*"}}, {"names": []string{}, "observe": true}} {
		plane.Allow(planetest.SandboxA, allowed)
		for _, name := range []string{"metadata.google.internal", "printer.local", "kubernetes.default.svc.cluster.local", "1.2.0.192.in-addr.arpa"} {
			if got := format(ask(t, plane, planetest.SandboxA, "udp", name, dns.TypeA)); got != "NXDOMAIN" {
				t.Errorf("%s with %v: %s", name, allowed, got)
			}
		}
		if got := format(ask(t, plane, planetest.SandboxA, "udp", "site.example", dns.TypeA)); got != "NOERROR | 5 IN A 127.0.1.1" {
			t.Errorf("with %v: %s", allowed, got)
		}
	}
	plane.Eventually("the refusals were reported", func() bool { return plane.Refused()["reserved dns metadata.google.internal."] == 2 })
}

// A tunnel needs that a question reaches a server of the attacker.
func TestForwardsNoQuestionOfAClosedSandbox(t *testing.T) {
	plane := planetest.Start(t, nil)
	plane.Allow(planetest.SandboxA, map[string]any{"names": []string{"passed.test.example"}})
	for index := range 1_000 {
		name := fmt.Sprintf("data%x.evil.example", index)
		if got := format(ask(t, plane, planetest.SandboxA, "udp", name, dns.TypeTXT)); got != "NXDOMAIN" {
			t.Fatalf("%s: %s", name, got)
		}
	}
	if asked := plane.Names.Questions(); len(asked) > 0 {
		t.Errorf("the DNS server was asked for %d names", len(asked))
	}
	plane.Eventually("all refusals were reported", func() bool {
		reported := 0
		for what, count := range plane.Refused() {
			if strings.HasPrefix(what, "not_listed dns ") {
				reported += count
			}
		}
		return reported == 1_000
	})
}

func TestResolverOfAnOpenSandbox(t *testing.T) {
	plane := planetest.Start(t, []string{"api.test.example"})
	plane.Names.Set(t, "site.example. 300 IN A 192.0.2.1", "inside.example. 300 IN A 10.0.0.1", "inside.example. 300 IN A 192.0.2.2",
		"mapped.example. 300 IN AAAA 64:ff9b::10.0.0.1")
	plane.Allow(planetest.SandboxA, map[string]any{"closed": false, "rules": []any{map[string]any{"host": "api.test.example"}}})
	for _, test := range []struct {
		name string
		kind uint16
		want string
	}{
		{"api.test.example", dns.TypeA, "NOERROR | 5 IN A 127.0.1.2"},
		{"site.example", dns.TypeA, "NOERROR | 5 IN A 192.0.2.1"},
		{"inside.example", dns.TypeA, "NOERROR | 5 IN A 192.0.2.2"},
		{"mapped.example", dns.TypeAAAA, "NOERROR"},
		{"none.example", dns.TypeA, "NXDOMAIN"},
	} {
		if got := format(ask(t, plane, planetest.SandboxA, "udp", test.name, test.kind)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestRefusesAnAddressThatIsNoSandbox(t *testing.T) {
	plane := planetest.Start(t, nil)
	if got := format(ask(t, plane, planetest.SandboxB, "udp", "a.example", dns.TypeA)); got != "REFUSED" {
		t.Error(got)
	}
}

func TestBoundsTheQuestionsOfASandbox(t *testing.T) {
	plane := planetest.Start(t, nil, func(settings *serve.Settings) { settings.DNSPerSec = 1 })
	plane.Allow(planetest.SandboxA, map[string]any{"names": []string{"a.example"}})
	plane.Allow(planetest.SandboxB, map[string]any{"names": []string{"a.example"}})
	counts := map[string]int{}
	for range 50 {
		counts[format(ask(t, plane, planetest.SandboxA, "udp", "a.example", dns.TypeA))]++
	}
	if counts["REFUSED"] == 0 || counts["NOERROR | 5 IN A 127.0.1.1"] == 0 {
		t.Errorf("the answers were %v", counts)
	}
	if got := format(ask(t, plane, planetest.SandboxB, "udp", "a.example", dns.TypeA)); got != "NOERROR | 5 IN A 127.0.1.1" {
		t.Errorf("another sandbox hears %s", got)
	}
}

func TestResolverLeadsWhereTheNewestWholeViewSays(t *testing.T) {
	plane := planetest.Start(t, nil)
	allow := func() { plane.Allow(planetest.SandboxA, map[string]any{"names": []string{"a.example"}}) }
	allow()
	answers := func() string {
		four := format(ask(t, plane, planetest.SandboxA, "udp", "a.example", dns.TypeA))
		return four + "; " + format(ask(t, plane, planetest.SandboxA, "udp", "a.example", dns.TypeAAAA))
	}
	plane.Push(map[string]any{"type": "reset", "passed": []string{"10.96.0.7", "fd00::7"}, "inspected": []string{"10.96.0.8"}})
	allow()
	if got := answers(); got != "NOERROR | 5 IN A 127.0.1.1; NOERROR" {
		t.Errorf("before the view is whole: %s", got)
	}
	plane.Push(map[string]any{"type": "synced"})
	if got := answers(); got != "NOERROR | 5 IN A 10.96.0.7; NOERROR | 5 IN AAAA fd00::7" {
		t.Errorf("after it: %s", got)
	}
}
