package tell

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics have no label that names a host, a sandbox or a claim.
type Metrics struct {
	tenants     *tenants
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
	// Unknown counts connections and questions from addresses that are no sandbox's, by protocol.
	Unknown *prometheus.CounterVec
	// Closed counts connections that a change of rules ended.
	Closed prometheus.Counter
	// Dials has the time until the upstream was connected to, in seconds.
	Dials prometheus.Histogram
	// DialFailures are those that came to nothing, by reason.
	DialFailures *prometheus.CounterVec
}

// Gauges are read at each scrape.
type Gauges struct {
	Open, Sandboxes     func() int
	IsReady, IsAttended func() bool
	// Age is how old the view of the cluster is. It is false before the first view.
	Age func() (time.Duration, bool)
}

// NewMetrics makes the metrics. The templates are those that always have a label of their own.
func NewMetrics(registry prometheus.Registerer, gauges Gauges, templates []string) *Metrics {
	r := registrar{registry}
	r.registerGauges(gauges)
	dials := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: prefix + "dial_seconds", Help: "Time until the upstream was connected to, the look-up included.",
		Buckets: []float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 5, 15},
	})
	registry.MustRegister(dials)
	return &Metrics{
		tenants: newTenants(templates),
		connections: r.counter("connections_total", "Connections and requests of sandboxes that ended, and questions that were refused.",
			"namespace", "template", "protocol", "decision", "reason"),
		bytes:      r.counter("bytes_total", "Bytes of connections that were passed on unopened.", "namespace", "template", "direction"),
		Handshakes: r.results("handshakes_total", "TLS handshakes that ended at the proxy, by result.", "done", "refused"),
		Injections: r.results("injections_total", "Requests to hosts with a rule, by result.", "set", "missing"),
		Queries: r.results("dns_queries_total", "Questions of sandboxes to the resolver, by result.",
			"steered", "forwarded", "refused", "limited", "failed", "unknown_source"),
		Proofs: r.results("proofs_total", "Proofs asked of daemons, by result.", "done", "failed"),
		Unknown: r.known("unknown_sources_total", "Connections and questions from addresses of no sandbox.", "protocol",
			string(DNS), string(Passed), string(HTTP), string(Connect)),
		Closed: r.counter("closed_total", "Connections that a change of rules ended.").WithLabelValues(),
		Dials:  dials,
		DialFailures: r.known("dial_failures_total", "Upstreams that were not connected to, by why.", "reason",
			NoAnswer, NoAddress, Forbidden, Unreachable, Left),
	}
}

// Why an upstream was not connected to.
const (
	// NoAnswer says that no DNS server answered.
	NoAnswer    = "no_answer"
	NoAddress   = "no_address"
	Forbidden   = "forbidden_address"
	Unreachable = "unreachable"
	// Left says that the client did not wait.
	Left = "client_gone"
)

const prefix = "sandlot_egress_"

type registrar struct{ registry prometheus.Registerer }

func (r registrar) counter(name, help string, labels ...string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	r.registry.MustRegister(made)
	return made
}

// known makes a counter whose values of its label exist from the start.
func (r registrar) known(name, help, label string, values ...string) *prometheus.CounterVec {
	made := r.counter(name, help, label)
	for _, value := range values {
		made.WithLabelValues(value)
	}
	return made
}

func (r registrar) results(name, help string, values ...string) *prometheus.CounterVec {
	return r.known(name, help, "result", values...)
}

func (r registrar) registerGauges(gauges Gauges) {
	gauge := func(name, help string, read func() float64) {
		r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: help}, read))
	}
	count := func(read func() int) func() float64 { return func() float64 { return float64(read()) } }
	flag := func(read func() bool) func() float64 {
		return func() float64 {
			if read() {
				return 1
			}
			return 0
		}
	}
	gauge("open_connections", "Connections of sandboxes that are open.", count(gauges.Open))
	gauge("sandboxes", "Sandboxes whose addresses are known.", count(gauges.Sandboxes))
	gauge("ready", "1 while the proxy takes connections by a view that is whole and fresh.", flag(gauges.IsReady))
	gauge("rules_connected", "1 while the rules process is heard of.", flag(gauges.IsAttended))
	gauge("rules_age_seconds", "How old the view of the cluster is; infinite before the first.", func() float64 {
		age, isKnown := gauges.Age()
		if !isKnown {
			return math.Inf(1)
		}
		return age.Seconds()
	})
}

// count records an event that has ended.
func (m *Metrics) count(event Event) {
	namespace, template := m.tenants.label(event.Sandbox)
	m.connections.WithLabelValues(namespace, template, string(event.Protocol), event.Reason.Decision(), string(event.Reason)).Inc()
	m.bytes.WithLabelValues(namespace, template, "sent").Add(float64(event.Sent))
	m.bytes.WithLabelValues(namespace, template, "received").Add(float64(event.Received))
}
