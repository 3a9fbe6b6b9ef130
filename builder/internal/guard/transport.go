package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"sandlot.dev/builder/internal/refuse"
)

const (
	dialLimit = 15 * time.Second
	// mostRequests bounds one operation, so that a registry cannot lead it around for ever.
	mostRequests = 2000
	// mostText is what a manifest, an answer of a token server and every other answer may have that is no blob. The
	// distribution specification asks registries for as much.
	mostText = 4 << 20
	// mostHeaders is what the headers of an answer may have.
	mostHeaders = 64 << 10
)

// Options are those of a transport.
type Options struct {
	Roots *x509.CertPool
	// Idle ends a connection over which no byte passes for so long while one is waited for.
	Idle time.Duration
	// IsTrusted lets it dial every address: the operator named the registry.
	IsTrusted bool
	// OnRefused is called for each dial that is refused.
	OnRefused func()
}

// Transport dials registries. Sessions bound what one operation does with it.
type Transport struct {
	policy Policy
	http   *http.Transport
}

// NewTransport makes a transport. It uses no proxy of the environment, and unpacks no answer.
func NewTransport(policy Policy, o Options) *Transport {
	dialer := &net.Dialer{Timeout: dialLimit}
	if !o.IsTrusted {
		dialer.Control = policy.control
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if errors.Is(err, refuse.ErrForbidden) {
			o.OnRefused()
		}
		if err != nil {
			return nil, err
		}
		return &patient{Conn: conn, idle: o.Idle}, nil
	}
	return &Transport{policy, &http.Transport{
		DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialLimit, ResponseHeaderTimeout: 0, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
		DisableCompression: true, MaxResponseHeaderBytes: mostHeaders, ExpectContinueTimeout: time.Second,
	}}
}

// Close ends connections that nothing uses.
func (t *Transport) Close() { t.http.CloseIdleConnections() }

// Session is the transport of one operation.
func (t *Transport) Session() http.RoundTripper { return &session{transport: t} }

type session struct {
	transport *Transport
	requests  atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (s *session) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.requests.Add(1) > mostRequests {
		return nil, fmt.Errorf("%w: more than %d requests", refuse.ErrTooLarge, mostRequests)
	}
	if request.URL.Scheme != "https" && !s.transport.policy.IsPlain(Canonical(request.URL.Host)) {
		return nil, fmt.Errorf("%s is reached over TLS only", request.URL.Host)
	}
	response, err := s.transport.http.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// The manifest says the size of a blob, and its reader counts.
	if !strings.Contains(first(request).URL.Path, "/blobs/") {
		response.Body = &short{response.Body, mostText}
	}
	return response, nil
}

// first returns the request that was redirected to this one.
func first(request *http.Request) *http.Request {
	for request.Response != nil && request.Response.Request != nil {
		request = request.Response.Request
	}
	return request
}

// short is a body that has an end.
type short struct {
	io.ReadCloser
	left int64
}

func (s *short) Read(into []byte) (int, error) {
	if s.left <= 0 {
		return 0, refuse.ErrTooLarge
	}
	read, err := s.ReadCloser.Read(into[:min(int64(len(into)), s.left)])
	s.left -= int64(read)
	return read, err
}

// patient gives each read and write the time of idle. A read that waits for the answer to a long upload has the time since the last write.
type patient struct {
	net.Conn
	idle time.Duration
}

func (p *patient) Read(into []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.idle)); err != nil {
		return 0, err
	}
	return p.Conn.Read(into)
}

func (p *patient) Write(data []byte) (int, error) {
	now := time.Now()
	if err := errors.Join(p.SetWriteDeadline(now.Add(p.idle)), p.SetReadDeadline(now.Add(p.idle))); err != nil {
		return 0, err
	}
	return p.Conn.Write(data)
}
