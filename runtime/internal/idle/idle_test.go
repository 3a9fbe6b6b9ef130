package idle

import (
	"fmt"
	"testing"
)

const smaps = `00400000-00800000 r-xp 00000000 00:20 77 /dir/daemon
Rss:                1000 kB
Anonymous:             0 kB
00800000-00c00000 r--p 00400000 00:20 77 /dir/daemon
Anonymous:             0 kB
00c00000-00c10000 r--p 00800000 00:20 77 /dir/daemon
Anonymous:             4 kB
00c10000-00c20000 rw-p 00810000 00:20 77 /dir/daemon
Anonymous:             0 kB
00d00000-00d10000 r-xp 00000000 00:20 78 /dir/other
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
`

func TestTrimDropsOnlyPagesThatWereNeverWritten(t *testing.T) {
	if got := fmt.Sprintf("%x", cleanMappings(smaps, "/dir/daemon")); got != "[{400000 800000} {800000 c00000}]" {
		t.Errorf("got %s", got)
	}
}

func TestTheProgramRunsAfterTrim(t *testing.T) {
	for range 3 {
		Trim()
		if got := fmt.Sprint(len(smaps) > 0); got != "true" {
			t.Error("the program does not run after Trim")
		}
	}
}
