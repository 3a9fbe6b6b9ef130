package fingerprint

import (
	"regexp"
	"strings"
	"testing"
)

func machine(change func(*Parts)) Fingerprint {
	parts := Parts{RunscVersion: "v1", OCIVersion: "1.2.1", Architecture: "amd64", CPUFeatures: []string{"sse", "avx"}}
	change(&parts)
	return Build(parts)
}

func TestHashIsALabelValueAndKnowsNoOrder(t *testing.T) {
	one := machine(func(*Parts) {})
	other := machine(func(p *Parts) { p.CPUFeatures = []string{"avx", "sse", "avx"} })
	if one.Hash != other.Hash {
		t.Errorf("the order changes the hash: %s, %s", one.Hash, other.Hash)
	}
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(one.Hash) {
		t.Errorf("not a label value: %q", one.Hash)
	}
}

// Snapshots outlive agents, so a new agent must not call the same machine by another hash.
func TestHashStaysTheSameFromReleaseToRelease(t *testing.T) {
	if got, want := machine(func(*Parts) {}).Hash, "e8e5573af5881ef2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEachPartChangesTheHashAndIsNamed(t *testing.T) {
	here := machine(func(*Parts) {})
	rows := map[string]func(*Parts){
		"runsc v2":           func(p *Parts) { p.RunscVersion = "v2" },
		"OCI version 1.3.0":  func(p *Parts) { p.OCIVersion = "1.3.0" },
		"architecture arm64": func(p *Parts) { p.Architecture = "arm64" },
		"lacks amx":          func(p *Parts) { p.CPUFeatures = append(p.CPUFeatures, "amx") },
	}
	for words, change := range rows {
		source := machine(change)
		if source.Hash == here.Hash {
			t.Errorf("%s: the hash is the same", words)
		}
		if got := source.ExplainMismatch(here); !strings.Contains(got, words) {
			t.Errorf("%s: got %q", words, got)
		}
	}
}

func TestAProcessorWithMoreFeaturesWillDo(t *testing.T) {
	target := machine(func(p *Parts) { p.CPUFeatures = append(p.CPUFeatures, "amx") })
	if got := machine(func(*Parts) {}).ExplainMismatch(target); got != "" {
		t.Error(got)
	}
}
