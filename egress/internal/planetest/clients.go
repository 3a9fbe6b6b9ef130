package planetest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
)

// dialFrom connects from the address of a sandbox.
func dialFrom(ctx context.Context, source, target string) (net.Conn, error) {
	local := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(source), 0))
	return (&net.Dialer{LocalAddr: local}).DialContext(ctx, "tcp", target)
}

// Dial connects a sandbox to a port of the proxy.
func (p *Plane) Dial(source string, port uint16) net.Conn {
	p.t.Helper()
	conn, err := dialFrom(p.t.Context(), source, join(Proxy, port))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ClientTLS is what a sandbox trusts: the authority of the proxy, and that of the upstreams.
func (p *Plane) ClientTLS() *tls.Config {
	roots := p.UpstreamCA.Pool()
	roots.AddCert(p.proxyCA)
	return &tls.Config{RootCAs: roots}
}

// Client is an HTTP client in a sandbox, for which every name leads to the proxy. Protocols is 1 or 2 for that of HTTP.
func (p *Plane) Client(source string, protocol int) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(protocol == 1)
	protocols.SetHTTP2(protocol == 2)
	transport := &http.Transport{
		TLSClientConfig: p.ClientTLS(), Protocols: protocols,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dialFrom(ctx, source, net.JoinHostPort(Proxy, port))
		},
	}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ClientTo is an HTTP/1.1 client at an address that connects to another one, for every name.
func (p *Plane) ClientTo(source net.Addr, target string) *http.Client {
	transport := &http.Transport{
		TLSClientConfig: p.ClientTLS(),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: source}).DialContext(ctx, "tcp", target)
		},
	}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ProxyClient is an HTTP/1.1 client that knows the port for CONNECT.
func (p *Plane) ProxyClient(source string) *http.Client {
	transport := &http.Transport{
		TLSClientConfig: p.ClientTLS(), Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: join(Proxy, p.Connect)}),
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return dialFrom(ctx, source, address) },
	}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// URL is that of a name at the port of TLS.
func (p *Plane) URL(name, path string) string { return "https://" + join(name, p.TLS) + path }

// PlainURL is that of a name at the port of plain HTTP.
func (p *Plane) PlainURL(name, path string) string { return "http://" + join(name, p.HTTP) + path }

// ServeTLS starts an upstream for names. It speaks both versions of HTTP, and ends with the test.
func (p *Plane) ServeTLS(handler http.Handler, names ...string) {
	p.t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{p.UpstreamCA.Issue(p.t, names...)}, NextProtos: []string{"h2", "http/1.1"}}
	listener, err := tls.Listen("tcp", join(Upstream, p.TLS), config)
	if err != nil {
		p.t.Fatal(err)
	}
	serveUntilEnd(p.t, listener, handler)
}

// ServeHTTP starts an upstream for plain HTTP.
func (p *Plane) ServeHTTP(handler http.Handler) {
	p.t.Helper()
	listener, err := net.Listen("tcp", join(Upstream, p.HTTP))
	if err != nil {
		p.t.Fatal(err)
	}
	serveUntilEnd(p.t, listener, handler)
}

func serveUntilEnd(t testing.TB, listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// Get returns the status and the body, or the error, of a request.
func Get(client *http.Client, url string) (int, string, error) {
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
