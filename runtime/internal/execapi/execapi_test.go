package execapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestWordsSplitsLikeAShell(t *testing.T) {
	for line, want := range map[string]string{
		`a b`: "a|b", ` a	b\n `: "a|bn", `'a b' c`: "a b|c", `"a 'b'"`: "a 'b'", `a\ b`: "a b", `"a\"b\\c\d"`: `a"b\c\d`, `''`: "", `a''b`: "ab", `'\'`: `\`,
	} {
		got, err := words(line)
		if strings.Join(got, "|") != want || err != nil {
			t.Errorf("%s: got %q, %v", line, got, err)
		}
	}
	for line, want := range map[string]error{`'a`: errUnclosed, `a\`: errUnclosed, `"`: errUnclosed, ` `: errNoWords, ``: errNoWords} {
		if _, err := words(line); err != want {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

func FuzzWordsThatAreQuotedComeBackAsTheyWere(f *testing.F) {
	f.Add("a b", "'", "\\")
	f.Add("", "\n", `"`)
	f.Fuzz(func(t *testing.T, first, second, third string) {
		quoted := make([]string, 0, 3)
		for _, each := range []string{first, second, third} {
			quoted = append(quoted, "'"+strings.ReplaceAll(strings.ToValidUTF8(each, ""), "'", `'\''`)+"'")
		}
		got, err := words(strings.Join(quoted, " "))
		want := []string{strings.ToValidUTF8(first, ""), strings.ToValidUTF8(second, ""), strings.ToValidUTF8(third, "")}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 3 {
			t.Errorf("%q became %q, %v", quoted, got, err)
		}
		_, _ = words(first)
	})
}
