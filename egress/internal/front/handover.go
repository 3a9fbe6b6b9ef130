package front

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// handover is a listener whose connections come from another one, once it is known whose they are and their TLS was ended. The server
// of requests knows HTTP/2 only from a bare *tls.Conn, so what belongs to a connection is kept beside it.
type handover struct {
	waiting chan net.Conn
	visits  sync.Map
	closed  chan struct{}
	once    sync.Once
}

func newHandover() *handover {
	return &handover{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands a connection over. forget has to be called when it is closed.
func (h *handover) give(conn net.Conn, visit visit) {
	h.visits.Store(conn, visit)
	select {
	case h.waiting <- conn:
	case <-h.closed:
		_ = conn.Close()
	}
}

func (h *handover) forget(conn net.Conn) { h.visits.Delete(conn) }

type visitKey struct{}

// attach puts the visit of a connection into the context of its requests.
func (h *handover) attach(ctx context.Context, conn net.Conn) context.Context {
	visit, _ := h.visits.Load(conn)
	return context.WithValue(ctx, visitKey{}, visit)
}

// visitOf returns the visit of the connection of a request. A connection that was closed meanwhile has none, and gets no answer.
func visitOf(request *http.Request) visit {
	found, ok := request.Context().Value(visitKey{}).(visit)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	found.begun = time.Now()
	return found
}

// Accept implements net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case conn := <-h.waiting:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *handover) Addr() net.Addr { return &net.UnixAddr{Name: "handover", Net: "unix"} }

// hooked calls a function once when the connection is closed, by whichever side.
type hooked struct {
	net.Conn
	once    sync.Once
	onClose func()
}

// Close implements net.Conn.
func (h *hooked) Close() error {
	h.once.Do(h.onClose)
	return h.Conn.Close()
}
