package lines

import (
	"bytes"
	"strings"
	"testing"
)

const most = 8 << 10

func TestEmitsLinesOfABoundedLength(t *testing.T) {
	long := strings.Repeat("x", most)
	for name, row := range map[string]struct {
		parts []string
		want  string
	}{
		"whole lines":               {[]string{"a\nb\n"}, "a\nb\n"},
		"a line in parts":           {[]string{"a", "b", "c\nd"}, "abc\nd\n"},
		"empty lines":               {[]string{"\n", "\n"}, "\n\n"},
		"a line of the most bytes":  {[]string{long, "\n"}, long + "\n"},
		"a longer line":             {[]string{long, "y", "z\nnext\n"}, long + " [cut]\nnext\n"},
		"output without a line end": {[]string{long + long, long}, long + " [cut]\n"},
		"nothing":                   {nil, ""},
	} {
		var out bytes.Buffer
		c := &Cutter{Max: most, Emit: func(line []byte) { out.Write(append(line, '\n')) }}
		for _, part := range row.parts {
			c.Add([]byte(part))
		}
		c.End()
		if got := out.String(); got != row.want {
			t.Errorf("%s: got %d bytes, want %d", name, len(got), len(row.want))
		}
		if cap(c.line) > 3*most {
			t.Errorf("%s: it keeps %d bytes", name, cap(c.line))
		}
	}
}
