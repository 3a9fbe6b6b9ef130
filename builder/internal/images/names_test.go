package images

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"sandlot.dev/builder/internal/guard"
	"sandlot.dev/builder/internal/refuse"
)

// ownForm has the ways to write the host of the operator's registry.
var ownForm = regexp.MustCompile(`(?i)^own\.test\.?(:443|:80)?$`)

func FuzzNamesStayInTheirRepository(f *testing.F) {
	p := New(Config{Registry: "own.test", Prefix: "builds", Policy: guard.Policy{Registries: []string{"*"}}}, nil, nil)
	for _, text := range []string{"team/app:v1", "team/../x:v1", "own.test/builds/x", "OWN.test:443/builds/x", "own.test./builds/x", "own.test.:80/x", "x@sha256:" + strings.Repeat("0", 64), "[::1]:5000/x", "a%2fb", "x:v1@y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var refusal *refuse.Refusal
		if reference, err := p.reference(text); err == nil {
			path := reference.Context().RepositoryStr()
			if reference.Context().RegistryStr() != "own.test" || !strings.HasPrefix(path, "builds/") || strings.Contains(path, "..") {
				t.Errorf("%q is %s", text, reference)
			}
		} else if !errors.As(err, &refusal) || refusal.Reason != refuse.BadReference {
			t.Errorf("%q: %v", text, err)
		}
		reference, err := p.parse(Base{Image: text})
		if err != nil {
			return
		}
		host := reference.Context().RegistryStr()
		if strings.ContainsAny(host, "/@?#*") || strings.Contains(reference.Context().RepositoryStr(), "..") {
			t.Errorf("%q is at %q", text, reference)
		}
		if err := p.admit(Base{Image: text}, host); err == nil && ownForm.MatchString(host) {
			t.Errorf("%q reads the registry of the operator at %q", text, host)
		}
	})
}
