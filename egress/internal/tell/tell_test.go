package tell

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sandlot.dev/egress/internal/rules"
)

func start(templates ...string) (*Teller, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	no, none := func() bool { return false }, func() int { return 0 }
	gauges := Gauges{Open: none, Sandboxes: none, IsReady: no, IsAttended: no, Age: func() (time.Duration, bool) { return 0, false }}
	return New(slog.New(slog.DiscardHandler), None, NewMetrics(registry, gauges, templates)), registry
}

// read returns the series of a metric as "label=value ..." with their values.
func read(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "sandlot_egress_"+name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			series[strings.Join(labels, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return series
}

func TestCountsByTenantAndDecision(t *testing.T) {
	teller, registry := start()
	box := &rules.Sandbox{UID: "u", Namespace: "team", Template: "python"}
	for _, event := range []Event{
		{Sandbox: box, Protocol: Passed, Reason: rules.Allowed, Sent: 3, Received: 5},
		{Sandbox: box, Protocol: Looked, Reason: rules.Observed},
		{Sandbox: box, Protocol: DNS, Reason: rules.NotListed},
		{Sandbox: box, Protocol: HTTP, Reason: rules.Unreachable},
		{Sandbox: &rules.Sandbox{UID: "v", Namespace: "team"}, Protocol: Passed, Reason: rules.Allowed},
		{Protocol: Connect, Reason: rules.NoSandbox},
	} {
		event.Host = "host.example"
		teller.Record(event)
	}
	want := []string{
		"decision=allowed namespace=team protocol=tls reason=allowed template=python",
		"decision=observed namespace=team protocol=https reason=observed template=python",
		"decision=refused namespace=team protocol=dns reason=not_listed template=python",
		"decision=failed namespace=team protocol=http reason=upstream template=python",
		"decision=allowed namespace=team protocol=tls reason=allowed template=none",
		"decision=refused namespace=unknown protocol=connect reason=unknown_source template=none",
	}
	got := read(t, registry, "connections_total")
	for _, each := range want {
		if got[each] != 1 {
			t.Errorf("%s is counted %v times", each, got[each])
		}
	}
	if len(got) != len(want) {
		t.Errorf("the series are %v", got)
	}
	if sent := read(t, registry, "bytes_total")["direction=sent namespace=team template=python"]; sent != 3 {
		t.Errorf("%v bytes were sent", sent)
	}
}

func TestBoundsTheTenants(t *testing.T) {
	teller, registry := start("chosen")
	for index := range 200 {
		for _, template := range []string{"chosen", "base"} {
			sandbox := &rules.Sandbox{Namespace: fmt.Sprintf("team-%d", index), Template: template}
			teller.Record(Event{Sandbox: sandbox, Protocol: Passed, Reason: rules.Allowed})
		}
	}
	got := read(t, registry, "connections_total")
	if len(got) != maxTenants+2 {
		t.Errorf("there are %d series", len(got))
	}
	for _, template := range []string{"chosen", "other"} {
		if count := got["decision=allowed namespace=other protocol=tls reason=allowed template="+template]; count != 150 {
			t.Errorf("the others with the template %s are counted %v times", template, count)
		}
	}
}

func TestEveryValueThatIsKnownExistsFromTheStart(t *testing.T) {
	_, registry := start()
	for name, count := range map[string]int{
		"dns_queries_total": 6, "dial_failures_total": 5, "unknown_sources_total": 4, "handshakes_total": 2, "injections_total": 2, "proofs_total": 2,
		"closed_total": 1, "open_connections": 1, "sandboxes": 1, "ready": 1, "rules_connected": 1, "rules_age_seconds": 1, "dial_seconds": 1,
	} {
		if got := read(t, registry, name); len(got) != count {
			t.Errorf("%s has the series %v", name, got)
		}
	}
}

// A sandbox that tries a million names must take no memory for each.
func TestRefusalsOfOneSandboxAreBoundedBetweenTwoReports(t *testing.T) {
	pending := newRefusals()
	sandbox := &rules.Sandbox{UID: "uid", Namespace: "team"}
	for index := range 10 * maxPerSandbox {
		event := Event{Sandbox: sandbox, Protocol: DNS, Host: fmt.Sprintf("name%d.example", index), Reason: rules.NotListed}
		pending.add(event, time.Unix(1, 0))
	}
	total, others := 0, 0
	reports := pending.take()
	for _, each := range reports {
		refused := each.(Refused)
		total += refused.Count
		if refused.Host == otherHosts {
			others += refused.Count
		}
	}
	if len(reports) != maxPerSandbox+1 || total != 10*maxPerSandbox || others != 9*maxPerSandbox {
		t.Errorf("%d reports of %d refusals, of which %d have no name", len(reports), total, others)
	}
	if left := pending.take(); len(left) > 0 {
		t.Errorf("reported again: %v", left)
	}
}
