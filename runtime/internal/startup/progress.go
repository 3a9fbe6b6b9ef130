package startup

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// readyAnswer is what a ready sandbox answers; others answer why they are not.
	readyAnswer = "ready"
	// answerTime bounds one answer, so that a process that asks and does not read holds nothing up.
	answerTime = time.Second
	maxAnswer  = 4 << 10
	// askAgain is how often Await asks.
	askAgain = 100 * time.Millisecond
)

// Address is where the supervisor of the daemon on this port answers: an abstract socket, which needs no folder, is gone with the
// supervisor, and is saved and restored with it.
func Address(port string) string { return "@sandlot-startup-" + port }

// progress is how far the commands are. It is safe for concurrent use.
type progress struct {
	mu     sync.Mutex
	answer string
}

func (p *progress) set(answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *progress) get() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answer
}

// serve answers one caller after the other for as long as the process lives.
func (p *progress) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(answerTime))
		_, _ = io.WriteString(conn, p.get())
		_ = conn.Close()
	}
}

// Await waits until the sandbox is ready, at most for the limit. The error says why it is not.
func Await(address string, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(askAgain) {
		answer := ask(address)
		if answer == readyAnswer {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New(answer)
		}
	}
}

func ask(address string) string {
	conn, err := net.DialTimeout("unix", address, answerTime)
	if err != nil {
		return "the daemon does not run the start command yet"
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil || len(answer) == 0 {
		return fmt.Sprintf("the daemon does not say whether the ready command has succeeded: %v", err)
	}
	return strings.ToValidUTF8(string(answer), "?")
}
