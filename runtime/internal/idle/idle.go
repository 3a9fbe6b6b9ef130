// Package idle makes the daemon small again after it was busy. It shares the memory of the container with the workload,
// and most of the time it waits.
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

// quiet is how long there must have been no request: long enough not to cost a busy daemon anything.
const quiet = 10 * time.Second

// Trimming wraps a handler: once no request began or ended for a while, memory is given back, once per busy time.
func Trimming(next http.Handler) http.Handler {
	timer := time.AfterFunc(quiet, Trim)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer.Reset(quiet)
		defer timer.Reset(quiet)
		next.ServeHTTP(w, r)
	})
}

// Trim gives unused heap and the pages of the own program back. The latter are read again from the page cache when
// they are needed, a few microseconds each.
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

// cleanMappings finds the parts of the program that cannot be written and never were, so that dropping them loses
// nothing: a loader may write to pages and protect them afterwards, and those count as anonymous.
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
