package tell

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics have no label that names a host or a tenant.
type Metrics struct {
	connections *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	// Handshakes are those of hosts with a rule, by result.
	Handshakes *prometheus.CounterVec
	// Injections are requests that a rule concerns, by result.
	Injections *prometheus.CounterVec
	// Queries are those of the resolver, by result.
	Queries *prometheus.CounterVec
	// Proofs are asked of daemons, by result.
	Proofs *prometheus.CounterVec
	// Unknown counts connections and queries from addresses that are no sandbox's.
	Unknown prometheus.Counter
	// Closed counts connections that a change of rules ended.
	Closed prometheus.Counter
	// Dials has the time until the upstream was connected to, in seconds.
	Dials prometheus.Histogram
}

// NewMetrics makes the metrics, and those of the state.
func NewMetrics(registry prometheus.Registerer, open func() int, age func() time.Duration) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		made := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandlot_egress_" + name, Help: help}, labels)
		registry.MustRegister(made)
		return made
	}
	gauge := func(name, help string, read func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sandlot_egress_" + name, Help: help}, read))
	}
	gauge("connections", "Connections of sandboxes that are open.", func() float64 { return float64(open()) })
	gauge("rules_age_seconds", "How old the view of the cluster is.", func() float64 { return age().Seconds() })
	dials := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "sandlot_egress_dial_seconds", Help: "Time until the upstream was connected to, the look-up included.",
		Buckets: []float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 5, 15},
	})
	registry.MustRegister(dials)
	return &Metrics{
		connections: counter("connections_total", "Connections and requests of sandboxes.", "protocol", "reason"),
		bytes:       counter("bytes_total", "Bytes of connections that were passed on unopened.", "direction"),
		Handshakes:  counter("handshakes_total", "TLS handshakes for hosts with a rule.", "result"),
		Injections:  counter("injections_total", "Requests to hosts with a rule.", "result"),
		Queries:     counter("dns_queries_total", "Questions of sandboxes to the resolver.", "result"),
		Proofs:      counter("proofs_total", "Proofs asked of daemons.", "result"),
		Unknown:     counter("unknown_sources_total", "Connections and questions from addresses of no sandbox.").WithLabelValues(),
		Closed:      counter("closed_total", "Connections that a change of rules ended.").WithLabelValues(),
		Dials:       dials,
	}
}
