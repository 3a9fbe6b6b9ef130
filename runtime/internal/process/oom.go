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

// oomOwn is open from the start: later the kernel gives the file to root, since the daemon forbids dumps of itself.
var oomOwn, _ = os.OpenFile(oomFile, os.O_RDWR, 0)

// withOOMScore starts a process with an oom_score_adj that is higher by add. A child inherits the value at the fork,
// so the daemon raises its own for that moment. Setting it afterwards would miss children that forked before.
// Lowering it to its old value needs no privilege. Without /proc nothing changes.
func withOOMScore[T any](add int, start func() (T, error)) (T, error) {
	if add == 0 || oomOwn == nil {
		return start()
	}
	oomMu.Lock()
	defer oomMu.Unlock()
	content := make([]byte, 16)
	// The content is shorter, so the read ends with io.EOF.
	length, _ := oomOwn.ReadAt(content, 0)
	own, err := strconv.Atoi(strings.TrimSpace(string(content[:length])))
	if err != nil {
		return start()
	}
	if setOOMScore(min(max(own, 0)+add, oomMax)) == nil {
		defer func() { _ = setOOMScore(own) }()
	}
	return start()
}

func setOOMScore(score int) error {
	_, err := oomOwn.WriteAt([]byte(strconv.Itoa(score)), 0)
	return err
}
