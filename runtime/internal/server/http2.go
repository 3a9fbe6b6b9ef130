package server

import (
	"net"
	"net/http"
	"time"
)

// WithHTTP2 makes a server speak HTTP/2 without TLS too, for clients of gRPC. It returns the listener that the server must use.
func WithHTTP2(to *http.Server, listener net.Listener) net.Listener {
	to.Protocols = &http.Protocols{}
	to.Protocols.SetHTTP1(true)
	to.Protocols.SetUnencryptedHTTP2(true)
	return hurried{listener}
}

// hurried gives a new connection a time for its first bytes. The server waits for the preface of HTTP/2 before its own
// limits begin; then it sets others, or none.
type hurried struct{ net.Listener }

func (h hurried) Accept() (net.Conn, error) {
	conn, err := h.Listener.Accept()
	if err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(ReadHeaderTimeout))
	}
	return conn, err
}
