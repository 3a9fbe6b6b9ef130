// Package relay passes bytes between two connections without looking at them.
package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how many bytes are copied before the deadline moves. The kernel copies them if both sides are bare TCP connections.
const chunk = 1 << 20

// windows is how often in the idle time a direction notes whether bytes came.
const windows = 4

// Both copies in both directions until both have ended, one breaks, or nothing came from either for the idle time, and at most three
// quarters of it longer. It closes both connections, and returns how many bytes went out of a into b, and back.
func Both(a, b net.Conn, idle time.Duration) (out, back int64) {
	shared := &activity{idle: idle}
	shared.touch()
	var waiting sync.WaitGroup
	waiting.Go(func() { back = pump(a, b, shared) })
	out = pump(b, a, shared)
	waiting.Wait()
	_, _ = a.Close(), b.Close()
	return out, back
}

// activity is when bytes came last in either direction, as far as it was noted.
type activity struct {
	idle time.Duration
	last atomic.Int64
}

func (a *activity) touch() { a.last.Store(time.Now().UnixNano()) }

func (a *activity) isIdle() bool { return time.Since(time.Unix(0, a.last.Load())) >= a.idle }

// pump copies in one direction. Only reads have a deadline: after a write that was cut short the stream would lack bytes. A peer that
// reads nothing is found by the other direction, which is idle then.
func pump(into, from net.Conn, shared *activity) int64 {
	var sum int64
	quiet := 0
	for {
		_ = from.SetReadDeadline(time.Now().Add(shared.idle / windows))
		copied, err := io.CopyN(into, from, chunk)
		sum += copied
		if copied > 0 {
			shared.touch()
		}
		quiet = countQuiet(quiet, shared)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			closeWrite(into)
			return sum
		// The other direction notes its bytes when a window of its ends, so they count two windows later at the latest.
		case errors.Is(err, os.ErrDeadlineExceeded) && quiet < 3:
		default:
			// The other direction must not wait for a connection that is broken.
			_, _ = into.Close(), from.Close()
			return sum
		}
	}
}

func countQuiet(before int, shared *activity) int {
	if shared.isIdle() {
		return before + 1
	}
	return 0
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}
