package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"sandlot.dev/egress/internal/planetest"
)

func TestMetricsSayWhatHappensInANamespace(t *testing.T) {
	const dead, absent = "dead.test.example", "absent.test.example"
	plane := planetest.Start(t, nil)
	plane.Names.Set(t, allowed+". 0 IN A "+planetest.Upstream, dead+". 0 IN A 127.0.2.9")
	plane.ServeTLS(echoHost, allowed)
	plane.Allow(planetest.SandboxA, map[string]any{"template": "python", "names": []string{allowed, dead, absent}})
	client := plane.Client(planetest.SandboxA, 1)
	for _, host := range []string{allowed, other, dead, absent} {
		ask(t, plane, planetest.SandboxA, "udp", host, dns.TypeA)
		if response, err := client.Get(plane.URL(host, "/")); err == nil {
			_ = response.Body.Close()
		}
	}
	client.CloseIdleConnections()
	ask(t, plane, planetest.SandboxB, "udp", allowed, dns.TypeA)
	of := `sandlot_egress_connections_total{decision="%s",namespace="team",protocol="%s",reason="%s",template="python"} %d`
	want := []string{
		fmt.Sprintf(of, "allowed", "tls", "allowed", 1),
		fmt.Sprintf(of, "refused", "tls", "not_listed", 1),
		fmt.Sprintf(of, "refused", "dns", "not_listed", 1),
		fmt.Sprintf(of, "failed", "tls", "upstream", 2),
		`sandlot_egress_dns_queries_total{result="steered"} 3`,
		`sandlot_egress_dns_queries_total{result="unknown_source"} 1`,
		`sandlot_egress_unknown_sources_total{protocol="dns"} 1`,
		`sandlot_egress_dial_failures_total{reason="no_address"} 1`,
		`sandlot_egress_dial_failures_total{reason="unreachable"} 1`,
		`sandlot_egress_dial_seconds_count 1`,
		`sandlot_egress_open_connections 0`,
		`sandlot_egress_sandboxes 1`,
		`sandlot_egress_ready 1`,
		`sandlot_egress_rules_connected 1`,
	}
	plane.Eventually("every metric has its value", func() bool {
		page := plane.Metrics()
		for _, line := range want {
			if !strings.Contains(page, line+"\n") {
				return false
			}
		}
		return true
	})
	for _, name := range []string{"test.example", planetest.SandboxA, planetest.SandboxB, `"box"`} {
		if strings.Contains(plane.Metrics(), name) {
			t.Errorf("a metric has %s", name)
		}
	}
}
