// Package inject changes requests by the rule of their host, and takes values out of the answers.
package inject

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/secret"
)

// Lookup returns what a reference stands for now.
type Lookup func(ref string) (secret.Value, bool)

// ErrMissing says that a header of a rule has no value now.
var ErrMissing = errors.New("the credential of the rule is not there")

// Headers are those of a rule with their values of now.
type Headers []Set

// Set is one header.
type Set struct {
	Name  string
	Value secret.Value
}

// Resolve looks up the values of a rule. The error names the header, and wraps ErrMissing.
func Resolve(rule *rules.Rule, lookup Lookup) (Headers, error) {
	resolved := make(Headers, 0, len(rule.Headers))
	for _, header := range rule.Headers {
		value := secret.New(header.Value)
		if header.Ref != "" {
			found, ok := lookup(header.Ref)
			if !ok {
				return nil, fmt.Errorf("header %s: %w", header.Name, ErrMissing)
			}
			value = secret.New(strings.Replace(header.Value, "{}", found.Reveal(), 1))
		}
		if !httpguts.ValidHeaderFieldValue(value.Reveal()) {
			return nil, fmt.Errorf("header %s: %w: it has bytes that no header may have", header.Name, ErrMissing)
		}
		resolved = append(resolved, Set{Name: header.Name, Value: value})
	}
	return resolved, nil
}

// Apply sets the headers. What the client sent under the same name goes, also if it wrote _ for -, as some servers read both alike.
func (h Headers) Apply(header http.Header) {
	for _, set := range h {
		name := fold(set.Name)
		for present := range header {
			if fold(present) == name {
				delete(header, present)
			}
		}
		header.Set(set.Name, set.Value.Reveal())
	}
}

func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// Values returns what must not come back.
func (h Headers) Values() []secret.Value {
	values := make([]secret.Value, 0, len(h))
	for _, set := range h {
		values = append(values, set.Value)
	}
	return values
}

// Names returns the names of the headers, for the log.
func (h Headers) Names() []string {
	names := make([]string, 0, len(h))
	for _, set := range h {
		names = append(names, set.Name)
	}
	return names
}

// CleanResponse takes values that came back out of the headers, and the offer of another way to the host that would go past the proxy.
func (h Headers) CleanResponse(header http.Header) {
	header.Del("Alt-Svc")
	values := h.Values()
	for _, texts := range header {
		for index, text := range texts {
			texts[index] = secret.Redact(text, values)
		}
	}
}
