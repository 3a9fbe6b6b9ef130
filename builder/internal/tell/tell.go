// Package tell says what was done: a line of the log for each operation, and metrics.
package tell

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sandlot.dev/builder/internal/refuse"
	"sandlot.dev/egress/secret"
)

// Operations are the values of the label operation.
var Operations = []string{
	"resolve", "push_layer", "compose", "find_image", "list_tags", "tag_image", "delete_image", "put_file", "get_file",
}

const (
	prefix = "sandlot_image_"
	done   = "done"
)

// Event is an operation that ended.
type Event struct {
	Operation string
	// Subject is an image, a repository or a tag.
	Subject string
	Err     error
	Took    time.Duration
	// Bytes are those of the body that came, or of the one that went.
	Bytes int64
	// Secrets are what no line may show.
	Secrets []secret.Value
}

// Teller is safe for concurrent use.
type Teller struct {
	log        *slog.Logger
	operations *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	bytes      *prometheus.CounterVec
	refused    prometheus.Counter
}

// New makes a teller. Open counts the operations that run.
func New(log *slog.Logger, registry prometheus.Registerer, open func() int) *Teller {
	t := &Teller{
		log: log,
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "operations_total", Help: "Operations that ended, by result: done, or why not.",
		}, []string{"operation", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "operation_seconds", Help: "Time of an operation.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}, []string{"operation"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "bytes_total", Help: "Bytes of layers and build files that passed, before they were compressed.",
		}, []string{"operation"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "refused_dials_total", Help: "Addresses of registries of tenants that were not dialled.",
		}),
	}
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "open_operations", Help: "Operations that run.",
	}, func() float64 { return float64(open()) })
	registry.MustRegister(t.operations, t.seconds, t.bytes, t.refused, running)
	for _, operation := range Operations {
		for _, result := range append(refuse.Reasons(), done) {
			t.operations.WithLabelValues(operation, result)
		}
		t.seconds.WithLabelValues(operation)
		t.bytes.WithLabelValues(operation)
	}
	return t
}

// Refused counts an address that was not dialled.
func (t *Teller) Refused() { t.refused.Inc() }

// mostError bounds what a registry can write into the log by its answers.
const mostError = 500

func short(text string) string {
	if len(text) <= mostError {
		return text
	}
	return strings.ToValidUTF8(text[:mostError], "") + "…"
}

// levelOf is that of a refusal. A build asks for every step that may be cached, so what is not there is no news.
func levelOf(operation string, reason refuse.Reason) slog.Level {
	switch {
	case reason == refuse.Unreachable:
		return slog.LevelWarn
	case reason == refuse.NotFound && (operation == "find_image" || operation == "get_file"):
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// Record tells of an operation.
func (t *Teller) Record(e Event) {
	result, attributes := done, []slog.Attr{
		slog.String("operation", e.Operation), slog.String("subject", e.Subject), slog.Int64("ms", e.Took.Milliseconds()),
		slog.Int64("bytes", e.Bytes),
	}
	level := slog.LevelInfo
	var refusal *refuse.Refusal
	if errors.As(e.Err, &refusal) {
		result = string(refusal.Reason)
		attributes = append(attributes, slog.String("reason", result), slog.String("message", secret.Redact(refusal.Message, e.Secrets)))
		if refusal.Cause != nil {
			attributes = append(attributes, slog.String("error", short(secret.Redact(refusal.Cause.Error(), e.Secrets))))
		}
		level = levelOf(e.Operation, refusal.Reason)
	}
	t.operations.WithLabelValues(e.Operation, result).Inc()
	t.seconds.WithLabelValues(e.Operation).Observe(e.Took.Seconds())
	t.bytes.WithLabelValues(e.Operation).Add(float64(e.Bytes))
	t.log.LogAttrs(context.Background(), level, "image", attributes...)
}
