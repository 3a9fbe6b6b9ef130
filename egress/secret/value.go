// Package secret holds values that must not be printed.
package secret

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const redacted = "***"

// shortest is the length from which a value is looked for in what comes back. A shorter one is found in harmless text.
const shortest = 6

// Value is a credential. Every way of printing it shows three asterisks, or where fmt asks no method, the address of the text.
type Value struct{ text *string }

// New makes a value of a text.
func New(text string) Value { return Value{&text} }

// Reveal returns the text, for the request that carries it.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// String implements fmt.Stringer.
func (Value) String() string { return redacted }

// Format implements fmt.Formatter, which every verb asks: %d would otherwise print the field.
func (Value) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText implements encoding.TextMarshaler, which JSON and YAML ask.
func (Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (Value) LogValue() slog.Value { return slog.StringValue(redacted) }

// Redact replaces the values in a text, as they are and in base64.
func Redact(text string, values []Value) string {
	for _, value := range values {
		for _, form := range value.forms() {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	return text
}

// forms are the texts by which the value would be recognised. Credentials such as "Bearer KEY" are looked for without their scheme too.
func (v Value) forms() []string {
	var forms []string
	whole := v.Reveal()
	for _, text := range []string{whole, whole[strings.LastIndexByte(whole, ' ')+1:]} {
		if len(text) >= shortest {
			forms = append(forms, text, base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)))
		}
	}
	return forms
}
