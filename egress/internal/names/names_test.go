package names

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// vectors.json is shared with the TypeScript that reads the same lists.
type vectors struct {
	Names []struct {
		Text       string `json:"text"`
		Normalised string `json:"normalised"`
	} `json:"names"`
	Patterns []struct {
		Pattern string   `json:"pattern"`
		Matches []string `json:"matches"`
		Others  []string `json:"others"`
	} `json:"patterns"`
	Refused []string `json:"refused"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var read vectors
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestNormalisesTheVectors(t *testing.T) {
	for _, vector := range readVectors(t).Names {
		got, err := Normalise(vector.Text)
		if vector.Normalised == "" {
			if err == nil {
				t.Errorf("%q is %q, and should be refused", vector.Text, got)
			}
			continue
		}
		if err != nil || got != vector.Normalised {
			t.Errorf("%q is %q (%v), want %q", vector.Text, got, err, vector.Normalised)
		}
	}
}

func TestMatchesTheVectors(t *testing.T) {
	for _, vector := range readVectors(t).Patterns {
		pattern, err := ParsePattern(vector.Pattern)
		if err != nil {
			t.Errorf("%q: %v", vector.Pattern, err)
			continue
		}
		for _, host := range vector.Matches {
			if !pattern.Matches(splitHost(t, host)) {
				t.Errorf("%q does not match %q", vector.Pattern, host)
			}
		}
		for _, host := range vector.Others {
			if pattern.Matches(splitHost(t, host)) {
				t.Errorf("%q matches %q", vector.Pattern, host)
			}
		}
	}
}

func splitHost(t *testing.T, text string) (string, uint16) {
	t.Helper()
	name, port, err := splitPort(text)
	if err != nil {
		t.Fatal(err)
	}
	if port == 0 {
		port = 443
	}
	return name, port
}

func TestRefusesPatternsOfTheVectors(t *testing.T) {
	for _, text := range readVectors(t).Refused {
		if pattern, err := ParsePattern(text); err == nil {
			t.Errorf("%q is read as %q", text, pattern)
		}
	}
}

func TestTheCloserPatternBeats(t *testing.T) {
	order := []string{"a.b.example.com", "*.b.example.com", "*.example.com", "*"}
	for index, text := range order[1:] {
		closer, _ := ParsePattern(order[index])
		wider, _ := ParsePattern(text)
		if !closer.Beats(wider) || wider.Beats(closer) {
			t.Errorf("%q should beat %q", closer, wider)
		}
	}
}

func FuzzNormaliseIsIdempotent(f *testing.F) {
	for _, seed := range []string{"example.com", "EXAMPLE.com.", "bücher.example", "xn--bcher-kva.example", "_a.b-c.d", "1.2.3.4", "a..b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := Normalise(text)
		if err != nil {
			return
		}
		if twice, err := Normalise(once); err != nil || twice != once {
			t.Errorf("%q is %q, then %q (%v)", text, once, twice, err)
		}
		if strings.ToLower(once) != once || strings.HasSuffix(once, ".") || !strings.Contains(once, ".") {
			t.Errorf("%q is %q", text, once)
		}
	})
}

// A name that the list does not have must not become one that it has by case, a final dot or its encoding.
func FuzzNothingRefusedBecomesAllowed(f *testing.F) {
	f.Add("example.com.")
	f.Add("eXample.com")
	f.Add("example.com.evil.test")
	pattern, _ := ParsePattern("example.com")
	f.Fuzz(func(t *testing.T, text string) {
		name, err := Normalise(text)
		if err == nil && pattern.Matches(name, 443) && name != "example.com" {
			t.Errorf("%q matches as %q", text, name)
		}
	})
}
