package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const key = "sk-live-0123456789"

// printAll prints by each verb. The format is no constant, so that vet does not object to those that fit no text.
func printAll(value Value) string {
	var texts []string
	for _, verb := range "vsqxXdcUtebogp" {
		texts = append(texts, fmt.Sprintf("%"+string(verb), value), fmt.Sprintf("%#"+string(verb), value), fmt.Sprintf("%+"+string(verb), value))
	}
	return strings.Join(texts, " ")
}

func TestNoWayOfPrintingShowsTheValue(t *testing.T) {
	value := New(key)
	inside := struct {
		Name  string
		Value Value
		Ref   *Value
	}{"key", value, &value}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("set", "value", value, "inside", inside)
	encoded, err := json.Marshal(inside)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		fmt.Sprint(value), printAll(value),
		fmt.Sprintf("%v %+v %#v", inside, inside, inside), logged.String(), string(encoded), fmt.Errorf("set %w %v", fmt.Errorf("%v", value), value).Error(),
	}
	for _, text := range texts {
		for _, form := range []string{key, fmt.Sprintf("%x", key), base64.StdEncoding.EncodeToString([]byte(key))} {
			if strings.Contains(text, form) {
				t.Errorf("%q shows the value", text)
			}
		}
	}
	if value.Reveal() != key {
		t.Error("the request would carry another value")
	}
}

func TestRedactsEveryForm(t *testing.T) {
	values := []Value{New("Bearer " + key)}
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	for text, want := range map[string]string{
		"got Bearer " + key: "got ***",
		"got " + key:        "got ***",
		encoded + "!":       "***!",
		"nothing":           "nothing",
	} {
		if got := Redact(text, values); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestRedactsNothingForAShortValue(t *testing.T) {
	if got := Redact("a banana", []Value{New("a")}); got != "a banana" {
		t.Errorf("it is %q", got)
	}
}
