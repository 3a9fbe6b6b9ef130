package lifecycle

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections are those of clients that the HTTP servers hold. Clients of a Pod that was saved are gone, but connections
// over loopback survive a restore, and those of lost clients would stay for minutes.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func newConnections() *connections { return &connections{open: map[net.Conn]struct{}{}} }

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open[conn] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		if secure, ok := conn.(*tls.Conn); ok {
			// Without the farewell of TLS, which may block.
			conn = secure.NetConn()
		}
		_ = conn.Close()
	}
}
