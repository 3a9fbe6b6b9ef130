package front

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/internal/tell"
)

// ServeHTTP takes plain requests until the context ends. The port of the upstream is that of the listener.
func (f *Front) ServeHTTP(ctx context.Context, listener net.Listener) error {
	return f.servePlain(ctx, listener, tell.HTTP, func(writer http.ResponseWriter, request *http.Request) {
		f.exchangePlain(writer, request, visitOf(request))
	})
}

// ServeConnect takes CONNECT, and plain requests of clients that use a proxy for them, until the context ends.
func (f *Front) ServeConnect(ctx context.Context, listener net.Listener) error {
	return f.servePlain(ctx, listener, tell.Connect, f.takeProxied)
}

// servePlain learns whose a connection is before it reads a request.
func (f *Front) servePlain(ctx context.Context, listener net.Listener, protocol tell.Protocol, handler http.HandlerFunc) error {
	known := newHandover()
	server := f.newServer(handler)
	server.ConnContext = known.attach
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, server, known) }()
	err := acceptAll(ctx, listener, func(conn net.Conn) {
		visit, isKnown := f.identify(ctx, conn, protocol)
		if !isKnown {
			_ = conn.Close()
			return
		}
		visit.port = portOf(conn)
		below := &hooked{Conn: conn}
		below.onClose = func() { known.forget(below) }
		known.give(below, visit)
	})
	if err != nil {
		return err
	}
	return <-ended
}

// exchangePlain serves a request by its Host, which is also what is dialled.
func (f *Front) exchangePlain(writer http.ResponseWriter, request *http.Request, visit visit) {
	exchange := &exchange{front: f, visit: visit, protocol: tell.HTTP, scheme: "http", writer: writer, request: request}
	exchange.run(func(string) refusal {
		if exchange.visit.sandbox.FindRule(exchange.visit.host) == nil {
			return refusal{}
		}
		if !f.Plaintext {
			return tlsRequired
		}
		return exchange.applyRule()
	})
}

func (f *Front) takeProxied(writer http.ResponseWriter, request *http.Request) {
	visit := visitOf(request)
	if !isAuthorised(request.Header.Get("Proxy-Authorization"), visit) {
		f.Teller.Record(visit.event(tell.Connect, unproven))
		wrongProof.write(writer, request.Host)
		return
	}
	request.Header.Del("Proxy-Authorization")
	if request.Method == http.MethodConnect {
		f.tunnel(writer, request, visit)
		return
	}
	if request.URL.Scheme != "http" {
		noHost.write(writer, request.Host)
		return
	}
	visit.port = portIn(request.URL.Host, 80)
	if !slices.Contains(f.HTTPPorts, visit.port) {
		f.Teller.Record(visit.event(tell.HTTP, rules.NotOnThisPort))
		noPort.write(writer, request.Host)
		return
	}
	f.exchangePlain(writer, request, visit)
}

// isAuthorised accepts no credentials, or those of this sandbox: Basic <UID of the Sandbox>:<proof in base64>.
func isAuthorised(header string, visit visit) bool {
	if header == "" {
		return true
	}
	encoded, isBasic := strings.CutPrefix(header, "Basic ")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if !isBasic || err != nil {
		return false
	}
	return slices.ContainsFunc(visit.sandbox.Proofs, func(proof []byte) bool {
		return hmac.Equal(decoded, []byte(visit.sandbox.UID+":"+base64.StdEncoding.EncodeToString(proof)))
	})
}

func portIn(host string, otherwise uint16) uint16 {
	index := strings.LastIndexByte(host, ':')
	if index < 0 {
		return otherwise
	}
	port, err := strconv.ParseUint(host[index+1:], 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// tunnel answers CONNECT, and then expects TLS for the same name.
func (f *Front) tunnel(writer http.ResponseWriter, request *http.Request, visit visit) {
	visit.port = portIn(request.Host, 0)
	said, reason := f.checkTunnel(request.Host, &visit)
	if said.status != 0 {
		f.Teller.Record(visit.event(tell.Connect, reason))
		said.write(writer, request.Host)
		return
	}
	conn, buffered, err := http.NewResponseController(writer).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil || buffered.Reader.Buffered() > 0 {
		// A client that speaks before the answer mixes two protocols.
		_ = conn.Close()
		return
	}
	f.openTLS(context.WithoutCancel(request.Context()), conn, visit, visit.host)
}

// checkTunnel reads NAME:PORT, and decides over it. The name in TLS is decided over again.
func (f *Front) checkTunnel(target string, visit *visit) (refusal, rules.Reason) {
	name := strings.TrimSuffix(target, ":"+strconv.Itoa(int(visit.port)))
	if !slices.Contains(f.TLSPorts, visit.port) {
		return noPort, rules.NotOnThisPort
	}
	decision := visit.decide(name)
	switch {
	case visit.host == "":
		return noHost, noName
	case !decision.Allowed:
		return denied, decision.Reason
	}
	return refusal{}, rules.Allowed
}
