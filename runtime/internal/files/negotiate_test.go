package files

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestNegotiateChoosesGzipOnRequest(t *testing.T) {
	for header, want := range map[string]string{
		"": "identity", "gzip": "gzip", "GZIP": "gzip", "gzip, deflate, br": "gzip", "br": "identity", "*": "identity",
		"gzip;q=0": "identity", "gzip; q=0.5": "gzip", "identity;q=0": "", "identity;q=0, gzip": "gzip", "*;q=0": "",
		"*;q=0, gzip": "gzip", "*;q=0, identity": "identity", "identity;q=0, *": "gzip", "gzip;q=x": "gzip", ",,;": "identity",
	} {
		if got := negotiate(header); got != want {
			t.Errorf("%q: got %q", header, got)
		}
	}
}

func TestMetadataIsReadFromHeaders(t *testing.T) {
	for name, row := range map[string]struct {
		header http.Header
		want   string
	}{
		"none":                      {http.Header{"X-Other": {"1"}}, "map[] 0"},
		"several":                   {http.Header{"X-Metadata-A": {"1"}, "X-Metadata-Long-Key": {"a b"}}, "map[a:1 long-key:a b] 0"},
		"a repeated header":         {http.Header{"X-Metadata-A": {"1", "2"}}, "map[a:1,2] 0"},
		"the longest key":           {http.Header{"X-Metadata-" + strings.Repeat("K", 246): {""}}, "map[" + strings.Repeat("k", 246) + ":] 0"},
		"a key too long":            {http.Header{"X-Metadata-" + strings.Repeat("K", 247): {""}}, "map[] 400"},
		"no key":                    {http.Header{"X-Metadata-": {"1"}}, "map[] 400"},
		"a value with a tab":        {http.Header{"X-Metadata-A": {"a\tb"}}, "map[] 400"},
		"the largest metadata":      {http.Header{"X-Metadata-A": {strings.Repeat("v", 4095)}}, "map[a:" + strings.Repeat("v", 4095) + "] 0"},
		"one byte above the limit":  {http.Header{"X-Metadata-A": {strings.Repeat("v", 4096)}}, "map[] 400"},
		"a value that is not ASCII": {http.Header{"X-Metadata-A": {"\xff"}}, "map[] 400"},
	} {
		got, failure := metadataOf(row.header)
		status := 0
		if failure != nil {
			status = failure.Status
		}
		if text := fmt.Sprint(got, status); text != row.want {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

func FuzzNegotiationNeverSendsWhatIsRefused(f *testing.F) {
	for _, seed := range []string{"gzip;q=0", "*;q=0", "identity;q=0,gzip;q=1.5", ";q=", "gzip;;q=0", "gzip\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if got := negotiate(header); got != "" && !accepts(header, got) {
			t.Errorf("%q is answered with %q", header, got)
		}
	})
}
