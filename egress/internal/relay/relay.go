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

// Both copies in both directions until both have ended, one breaks, or nothing came from either for the idle time, and at most half of
// it longer. It closes both
// connections, and returns how many bytes went out of a into b, and back.
func Both(a, b net.Conn, idle time.Duration) (out, back int64) {
	var last atomic.Int64
	touch := func() { last.Store(time.Now().UnixNano()) }
	touch()
	isIdle := func() bool { return time.Since(time.Unix(0, last.Load())) >= idle }
	var waiting sync.WaitGroup
	waiting.Go(func() { back = pump(a, b, idle, touch, isIdle) })
	out = pump(b, a, idle, touch, isIdle)
	waiting.Wait()
	_, _ = a.Close(), b.Close()
	return out, back
}

func pump(into, from net.Conn, idle time.Duration, touch func(), isIdle func() bool) int64 {
	var sum int64
	for {
		// Only reads have a deadline: after a write that was cut short the stream would lack bytes. A peer that reads nothing is found by
		// the other direction, which is idle then. A copy that goes on notes its bytes when its deadline ends it, so that comes twice in
		// the idle time.
		_ = from.SetReadDeadline(time.Now().Add(idle / 2))
		copied, err := io.CopyN(into, from, chunk)
		sum += copied
		if copied > 0 {
			touch()
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			closeWrite(into)
			return sum
		case errors.Is(err, os.ErrDeadlineExceeded) && !isIdle():
		default:
			// The other direction must not wait for a connection that is broken.
			_, _ = into.Close(), from.Close()
			return sum
		}
	}
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}
