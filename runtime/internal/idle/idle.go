// Package idle returns the daemon's memory to the system after a busy time. The daemon shares the memory of the
// container with the workload and is idle most of the time.
package idle

import (
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is how long the daemon must be without requests: long enough that trimming costs a busy daemon nothing.
const quiet = 10 * time.Second

// Trimming wraps a handler and calls Trim once when no request has begun or ended for a while.
func Trimming(next http.Handler) http.Handler {
	timer := time.AfterFunc(quiet, Trim)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer.Reset(quiet)
		defer timer.Reset(quiet)
		next.ServeHTTP(w, r)
	})
}

// Trim releases unused heap and the pages of the binary. The kernel reads the latter again from the page cache when
// needed, in a few microseconds each.
func Trim() {
	debug.FreeOSMemory()
	self, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(string(maps), self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

type mapping struct{ start, end uintptr }

// cleanMappings finds the read-only mappings of the binary that were never written, which can be dropped without
// loss. A loader may write to pages and then protect them; such pages count as anonymous.
func cleanMappings(smaps, program string) []mapping {
	found := []mapping{}
	var current *mapping
	for line := range strings.Lines(smaps) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 5 && len(fields[1]) == 4 && strings.Contains(fields[0], "-"):
			current = nil
			if len(fields) == 6 && fields[5] == program && fields[1][1] != 'w' {
				current = rangeOf(fields[0])
			}
		case len(fields) == 3 && fields[0] == "Anonymous:":
			if current != nil && fields[1] == "0" {
				found = append(found, *current)
			}
		}
	}
	return found
}

func rangeOf(text string) *mapping {
	from, to, _ := strings.Cut(text, "-")
	start, errStart := strconv.ParseUint(from, 16, 64)
	end, errEnd := strconv.ParseUint(to, 16, 64)
	if errStart != nil || errEnd != nil || end <= start {
		return nil
	}
	return &mapping{uintptr(start), uintptr(end)}
}
