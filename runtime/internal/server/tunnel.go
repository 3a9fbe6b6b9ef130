package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/proof"
)

const (
	// TunnelPath is the route by which the gateway reaches servers that listen only on loopback.
	TunnelPath     = "/sandlot/tunnel"
	tunnelProtocol = "sandlot-tunnel"
	dialTimeout    = 5 * time.Second
)

// Tunnel returns the handler of the tunnel: after 101 the connection carries the bytes to and from the port. It is for
// callers that isGateway recognises, and closes when ended is done.
func Tunnel(ended context.Context, isGateway func(*http.Request) bool) http.Handler {
	return httpx.Handle(func(w http.ResponseWriter, r *http.Request) *httpx.Error {
		port, err := strconv.ParseUint(r.URL.Query().Get("port"), 10, 16)
		if err != nil {
			return httpx.Fail(http.StatusBadRequest, "the query must have 'port', a number from 0 to 65535")
		}
		if !strings.EqualFold(r.Header.Get("Upgrade"), tunnelProtocol) {
			return httpx.Fail(http.StatusBadRequest, "this route is for upgrades to "+tunnelProtocol+" only")
		}
		if !isGateway(r) {
			return httpx.Fail(http.StatusUnauthorized, "this route is for the gateway: the header "+proof.Header+" is missing or wrong")
		}
		upstream, err := dialLoopback(strconv.FormatUint(port, 10))
		if err != nil {
			return httpx.Fail(http.StatusBadGateway, "the port is not open on loopback")
		}
		defer upstream.Close()
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return httpx.Fail(http.StatusInternalServerError, "the connection cannot be taken over")
		}
		defer client.Close()
		_ = client.SetDeadline(time.Time{})
		// The connection is no longer the server's, so nothing else closes it.
		defer context.AfterFunc(ended, func() {
			_ = client.Close()
			_ = upstream.Close()
		})()
		const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + tunnelProtocol + "\r\n\r\n"
		if _, err := io.WriteString(client, head); err == nil {
			splice(client, buffered, upstream)
		}
		return nil
	})
}

func dialLoopback(port string) (net.Conn, error) {
	upstream, err := net.DialTimeout("tcp4", net.JoinHostPort("127.0.0.1", port), dialTimeout)
	if err == nil {
		return upstream, nil
	}
	return net.DialTimeout("tcp6", net.JoinHostPort("::1", port), dialTimeout)
}

// splice copies in both directions until both have ended. It forwards the end of one direction, because protocols may
// answer after it.
func splice(client net.Conn, fromClient io.Reader, upstream net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pass(upstream, fromClient, client) })
	both.Go(func() { pass(client, upstream, upstream) })
	both.Wait()
}

// pass copies until the source ends. A failed copy closes both connections.
func pass(to net.Conn, from io.Reader, source net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		_ = source.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
