package process

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

const (
	oomFile = "/proc/self/oom_score_adj"
	oomMax  = 1000
)

var oomMu sync.Mutex

// withOOMScore starts a process with an oom_score_adj that is higher by add. A child inherits the value at the fork,
// so the daemon raises its own for that moment. Setting it afterwards would miss children that forked before.
// Lowering it to its old value needs no privilege. Without /proc nothing changes.
func withOOMScore[T any](add int, start func() (T, error)) (T, error) {
	if add == 0 {
		return start()
	}
	oomMu.Lock()
	defer oomMu.Unlock()
	content, err := os.ReadFile(oomFile)
	if err != nil {
		return start()
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return start()
	}
	if os.WriteFile(oomFile, []byte(strconv.Itoa(min(max(own, 0)+add, oomMax))), 0) == nil {
		defer func() { _ = os.WriteFile(oomFile, []byte(strconv.Itoa(own)), 0) }()
	}
	return start()
}
