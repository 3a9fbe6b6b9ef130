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

// withOOMScore starts a process whose oom_score_adj is higher than the own by add. A child inherits the value at the
// fork, so the own one is raised for that moment: set from outside afterwards, the child could have forked before.
// Lowering it again needs no privilege, as it goes no lower than it was. Without /proc nothing is changed.
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
