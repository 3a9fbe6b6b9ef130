package names

import (
	"errors"
	"strings"
	"testing"
)

const anyUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

func TestAcceptsTheNamesOfKubernetesObjects(t *testing.T) {
	for _, err := range []error{
		CheckUID("uid", anyUID),
		CheckNamespace("namespace", "team-1"),
		CheckNamespace("namespace", strings.Repeat("a", 63)),
		CheckName("pod", "analyst-1.web"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestRefusesNamesThatCouldLeaveTheirFolder(t *testing.T) {
	hostile := []string{
		"", ".", "..", "../x", "a/b", "/etc", "a\x00b", "a\nb", "-x", "x-", "--root=/", ".saving", "A", "a b", "ä", "a..b", "%2e%2e",
		strings.Repeat("a", 254), anyUID + "/..", anyUID + "\n", strings.ToUpper(anyUID),
	}
	for _, value := range hostile {
		for kind, check := range map[string]func(string, string) error{"uid": CheckUID, "namespace": CheckNamespace, "name": CheckName} {
			var refused *Error
			if err := check(kind, value); !errors.As(err, &refused) || refused.Field != kind {
				t.Errorf("%s %q: got %v", kind, value, err)
			}
		}
	}
}
