package inject

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/secret"
)

func values(known map[string]string) Lookup {
	return func(ref string) (secret.Value, bool) {
		text, found := known[ref]
		return secret.New(text), found
	}
}

func TestResolvesEachHeader(t *testing.T) {
	rule := &rules.Rule{Headers: []rules.Header{{Name: "Authorization", Value: "Bearer {}", Ref: "key"}, {Name: "X-Team", Value: "blue {}"}}}
	headers, err := Resolve(rule, values(map[string]string{"key": "a {} b"}))
	if err != nil {
		t.Fatal(err)
	}
	sent := http.Header{"Authorization": {"mine", "other"}, "X-Team": {"red"}, "Accept": {"*/*"}}
	headers.Apply(sent)
	for name, want := range map[string]string{"Authorization": "Bearer a {} b", "X-Team": "blue {}", "Accept": "*/*"} {
		if got := sent.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAMissingValueIsAnError(t *testing.T) {
	rule := &rules.Rule{Headers: []rules.Header{{Name: "Authorization", Value: "{}", Ref: "key"}}}
	if _, err := Resolve(rule, values(nil)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// No path that a server could resolve to one outside the rule gets through.
func FuzzNoDotSegmentGetsThrough(f *testing.F) {
	for _, seed := range []string{"/v1/a", "/v1/../b", "/v1/%2e%2e/b", "/v1/..%2Fb", "/v1//b", "/v1/%252e", "/v1/.;/b"} {
		f.Add(seed)
	}
	rule := &rules.Rule{Paths: []string{"/v1/*"}}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := url.ParseRequestURI(text)
		if err != nil || Match(rule, http.MethodGet, target) != "" {
			return
		}
		if read := path.Clean(target.Path); read != "/v1" && !strings.HasPrefix(read, "/v1/") {
			t.Errorf("%q gets through and is %q", text, read)
		}
	})
}
