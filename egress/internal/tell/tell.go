// Package tell says what was decided: a line of the log, metrics, and a summary of refusals for the rules process.
package tell

import (
	"context"
	"log/slog"
	"time"

	"sandlot.dev/egress/internal/rules"
)

// Mode says which connections the log has.
type Mode string

const (
	// Denied logs what was refused, or would have been.
	Denied Mode = "Denied"
	// All logs every connection, and each request that was looked into.
	All Mode = "All"
	// None logs nothing.
	None Mode = "None"
)

// Event is a connection, or a request that was looked into. It has no path, query, body or value of a header.
type Event struct {
	// Sandbox is nil if the source is none.
	Sandbox  *rules.Sandbox
	Source   string
	Protocol Protocol
	Host     string
	Port     uint16
	Reason   rules.Reason
	// Headers are the names of those that a rule set.
	Headers  []string
	Method   string
	Status   int
	Sent     int64
	Received int64
	Took     time.Duration
	// Err must not quote a value of a header.
	Err error
}

// Protocol is how the sandbox asked. It is a label of metrics.
type Protocol string

const (
	DNS     Protocol = "dns"
	HTTP    Protocol = "http"
	Passed  Protocol = "tls"
	Looked  Protocol = "https"
	Connect Protocol = "connect"
)

// Teller is safe for concurrent use.
type Teller struct {
	log      *slog.Logger
	mode     Mode
	metrics  *Metrics
	refusals *refusals
}

// New makes a teller.
func New(log *slog.Logger, mode Mode, metrics *Metrics) *Teller {
	return &Teller{log: log, mode: mode, metrics: metrics, refusals: newRefusals()}
}

// Note puts a destination into the next report, before its connection has ended.
func (t *Teller) Note(event Event) {
	if event.Sandbox != nil {
		t.refusals.add(event, time.Now())
	}
}

// Record tells of an event that has ended.
func (t *Teller) Record(event Event) {
	allowed := event.Reason == rules.Allowed
	t.metrics.count(event)
	if !allowed && event.Reason != rules.Observed {
		t.Note(event)
	}
	if t.mode == All || t.mode == Denied && !allowed {
		t.log.LogAttrs(context.Background(), slog.LevelInfo, "egress", event.attributes()...)
	}
}

func (e Event) attributes() []slog.Attr {
	attributes := []slog.Attr{
		slog.String("source", e.Source), slog.String("protocol", string(e.Protocol)), slog.String("host", e.Host),
		slog.Int("port", int(e.Port)), slog.String("reason", string(e.Reason)), slog.Int64("ms", e.Took.Milliseconds()),
		slog.Int64("sentBytes", e.Sent), slog.Int64("receivedBytes", e.Received),
	}
	if e.Sandbox != nil {
		attributes = append(attributes, slog.String("namespace", e.Sandbox.Namespace), slog.String("claim", e.Sandbox.Claim),
			slog.String("sandboxUid", e.Sandbox.UID))
	}
	if e.Method != "" {
		attributes = append(attributes, slog.String("method", e.Method), slog.Int("status", e.Status))
	}
	if len(e.Headers) > 0 {
		attributes = append(attributes, slog.Any("headersSet", e.Headers))
	}
	if e.Err != nil {
		attributes = append(attributes, slog.String("error", e.Err.Error()))
	}
	return attributes
}

// Report returns the refusals since the last call.
func (t *Teller) Report() []any { return t.refusals.take() }
