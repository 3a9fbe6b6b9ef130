package front

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"sandlot.dev/egress/internal/conns"
	"sandlot.dev/egress/internal/dial"
	"sandlot.dev/egress/internal/inject"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/internal/tell"
)

// newServer makes a server of requests. Its own errors are about clients, and may quote them.
func (f *Front) newServer(handler http.Handler) *http.Server {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: lineLimit, IdleTimeout: f.Idle, MaxHeaderBytes: maxHeaders,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	f.servers.add(server)
	return server
}

// ServeLooked takes the requests of connections whose TLS was ended, until the context ends.
func (f *Front) ServeLooked(ctx context.Context) error {
	server := f.newServer(http.HandlerFunc(f.takeLooked))
	server.ConnContext = f.looked.attach
	return serve(ctx, server, f.looked)
}

func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	// After Shutdown the requests that were open go on.
	<-ctx.Done()
	return nil
}

// takeLooked serves a request over a connection to one host.
func (f *Front) takeLooked(writer http.ResponseWriter, request *http.Request) {
	visit := visitOf(request)
	exchange := &exchange{front: f, visit: visit, protocol: tell.Looked, scheme: "https", writer: writer, request: request}
	exchange.run(func(name string) refusal {
		if name != visit.host {
			return wrongHost
		}
		return exchange.applyRule()
	})
}

// exchange is one request and its answer.
type exchange struct {
	front    *Front
	visit    visit
	protocol tell.Protocol
	scheme   string
	writer   http.ResponseWriter
	request  *http.Request
	headers  inject.Headers
	reason   rules.Reason
	err      error
}

// run decides over a request by what holds now, and passes it on. The check is of the normalised name that the request is for; a
// refusal of the status 0 lets it through.
func (e *exchange) run(check func(name string) refusal) {
	recorder := &statusRecorder{ResponseWriter: e.writer}
	e.writer = recorder
	defer func() {
		event := e.visit.event(e.protocol, e.reason)
		event.Method, event.Status, event.Headers, event.Err = e.request.Method, recorder.status, e.headers.Names(), e.err
		e.front.Teller.Record(event)
	}()
	if said := e.decide(check); said.status != 0 {
		said.write(e.writer, e.visit.host)
		return
	}
	e.front.noteObserved(e.visit.event(e.protocol, e.reason))
	e.forward()
}

func (e *exchange) decide(check func(name string) refusal) refusal {
	if e.request.Method == http.MethodConnect {
		e.reason = noName
		return noTunnel
	}
	now := e.front.Store.Find(e.visit.source)
	if !e.visit.isSame(now) {
		// On a new connection the client is asked anew who it is.
		e.writer.Header().Set("Connection", "close")
		e.reason = changed
		return denied
	}
	e.visit.sandbox = now
	asked := e.visit
	asked.host = ""
	decision := asked.decide(hostOf(e.request.Host, asked.port))
	e.reason = decision.Reason
	switch {
	case asked.host == "":
		return noHost
	case e.visit.host == "":
		e.visit.host = asked.host
	}
	if said := check(asked.host); said.status != 0 {
		if decision.Allowed {
			e.reason = rules.Reason(said.code)
		}
		return said
	}
	if !decision.Allowed {
		return denied
	}
	return refusal{}
}

// hostOf takes the port off a Host header if it is that of the connection. Another one makes the name unreadable.
func hostOf(host string, port uint16) string {
	return strings.TrimSuffix(host, ":"+strconv.Itoa(int(port)))
}

// applyRule checks the request against the rule of its host and resolves what the rule sets. A host without a rule is let through.
func (e *exchange) applyRule() refusal {
	rule := e.visit.sandbox.FindRule(e.visit.host)
	if rule == nil {
		return refusal{}
	}
	switch inject.Match(rule, e.request.Method, e.request.URL) {
	case inject.Method:
		return noMethod
	case inject.Path:
		return noPath
	case inject.Ambiguous:
		return oddPath
	}
	if err := e.prove(); err != nil {
		e.err = err
		return notProven
	}
	headers, err := inject.Resolve(rule, e.front.Store.Value)
	if err != nil {
		e.front.Metrics.Injections.WithLabelValues("missing").Inc()
		e.err = err
		return noValue
	}
	e.front.Metrics.Injections.WithLabelValues("set").Inc()
	e.headers = headers
	return refusal{}
}

// prove asks the daemon before a credential goes out over a connection that began without a rule, or over plain HTTP.
func (e *exchange) prove() error {
	if e.visit.proven || e.front.ByAddress {
		return nil
	}
	if e.visit.unproven != nil {
		// On a new connection the daemon is asked anew.
		e.writer.Header().Set("Connection", "close")
		return e.visit.unproven
	}
	return e.front.askProof(e.request.Context(), e.visit)
}

// forward passes the request on. It ends when the rules no longer allow it.
func (e *exchange) forward() {
	ctx, cancel := context.WithCancel(e.request.Context())
	defer cancel()
	entry, err := e.front.Register.Add(e.visit.source, canceller(cancel), e.visit.holdsPlain)
	if err != nil {
		e.reason = reasonOf(err)
		refusalOf(err).write(e.writer, e.visit.host)
		return
	}
	defer entry.Remove()
	proxy := &httputil.ReverseProxy{
		Rewrite: e.rewrite, Transport: e.transport(), FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(response *http.Response) error {
			e.headers.CleanResponse(response.Header)
			return nil
		},
		ErrorHandler: func(writer http.ResponseWriter, _ *http.Request, err error) {
			e.reason, e.err = reasonOf(err), errors.New(string(reasonOf(err)))
			refusalOf(err).write(writer, e.visit.host)
		},
	}
	proxy.ServeHTTP(e.writer, e.request.WithContext(ctx))
}

type canceller context.CancelFunc

func (c canceller) Close() error {
	c()
	return nil
}

// transport upgrades connections by HTTP/1.1 only.
func (e *exchange) transport() http.RoundTripper {
	upstream := e.front.upstreams.get(e.visit)
	if e.request.Header.Get("Upgrade") != "" || e.scheme == "http" {
		return upstream.plain
	}
	return upstream.modern
}

// rewrite sets the headers of the rule after the ones that belong to the connection are gone: a client cannot have ours removed.
func (e *exchange) rewrite(request *httputil.ProxyRequest) {
	out := request.Out
	out.URL = &url.URL{Scheme: e.scheme, Host: e.target(), Opaque: "", Path: out.URL.Path, RawPath: out.URL.RawPath, RawQuery: request.In.URL.RawQuery}
	out.Host = request.In.Host
	out.Trailer = nil
	if _, has := out.Header["User-Agent"]; !has {
		out.Header["User-Agent"] = nil
	}
	for _, name := range []string{"X-Original-Url", "X-Rewrite-Url"} {
		if len(e.headers) > 0 {
			out.Header.Del(name)
		}
	}
	e.headers.Apply(out.Header)
}

func (e *exchange) target() string {
	standard := map[string]uint16{"https": 443, "http": 80}
	if standard[e.scheme] == e.visit.port {
		return e.visit.host
	}
	return net.JoinHostPort(e.visit.host, strconv.Itoa(int(e.visit.port)))
}

func refusalOf(err error) refusal {
	switch {
	case errors.Is(err, dial.ErrForbidden):
		return closedOff
	case errors.Is(err, conns.ErrTooMany):
		return crowded
	case errors.Is(err, conns.ErrChanged):
		return denied
	}
	if _, isDenied := errors.AsType[errDenied](err); isDenied {
		return denied
	}
	return noUpstream
}

// statusRecorder notes the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (s *statusRecorder) WriteHeader(status int) {
	if s.status == 0 || s.status < http.StatusOK {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *statusRecorder) Write(body []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(body)
}

// Unwrap lets http.ResponseController reach what the server can do.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
