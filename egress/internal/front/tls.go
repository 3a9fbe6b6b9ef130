package front

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"sandlot.dev/egress/internal/peek"
	"sandlot.dev/egress/internal/relay"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/internal/tell"
)

// ServeTLS takes connections that begin with TLS until the context ends. The port of the upstream is that of the listener.
func (f *Front) ServeTLS(ctx context.Context, listener net.Listener) error {
	return acceptAll(ctx, listener, func(conn net.Conn) { f.takeTLS(ctx, conn) })
}

// acceptAll gives each connection to take, which closes it.
func acceptAll(ctx context.Context, listener net.Listener, take func(net.Conn)) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go take(conn)
	}
}

func (f *Front) takeTLS(ctx context.Context, conn net.Conn) {
	visit, known := f.identify(ctx, conn, tell.Passed)
	if !known {
		_ = conn.Close()
		return
	}
	visit.port = portOf(conn)
	f.openTLS(ctx, conn, visit, "")
}

// openTLS reads the name that the client asks for, and passes the connection on or looks into it. It closes the connection. A client
// that came by CONNECT has to ask for the name that it said there.
func (f *Front) openTLS(ctx context.Context, conn net.Conn, visit visit, said string) {
	hello, err := peek.Read(conn, helloLimit)
	if err != nil {
		f.refuseTLS(conn, visit, noName, peek.UnrecognizedName)
		return
	}
	// The client may have taken its time: what held when it connected may hold no more.
	now := f.Store.Find(visit.source)
	if !visit.isSame(now) {
		f.refuseTLS(conn, visit, changed, peek.AccessDenied)
		return
	}
	visit.sandbox, visit.host = now, ""
	decision := visit.decide(hello.ServerName)
	if said != "" && decision.Allowed && visit.host != said {
		decision = rules.Decision{Reason: otherName}
	}
	switch {
	case visit.host == "":
		f.refuseTLS(conn, visit, noName, peek.UnrecognizedName)
	case !decision.Allowed:
		f.refuseTLS(conn, visit, decision.Reason, peek.AccessDenied)
	case decision.Rule != nil || f.InspectAll:
		f.look(ctx, peek.Replay(conn, hello.Bytes), visit, decision)
	default:
		f.pass(ctx, conn, hello, visit, decision)
	}
}

func (f *Front) refuseTLS(conn net.Conn, visit visit, reason rules.Reason, alert peek.Alert) {
	f.Teller.Record(visit.event(tell.Passed, reason))
	peek.Refuse(conn, alert)
	_ = conn.Close()
}

// pass relays the connection unopened to the name that the client asked for.
func (f *Front) pass(ctx context.Context, conn net.Conn, hello peek.Hello, visit visit, decision rules.Decision) {
	upstream, err := f.dial(ctx, visit)
	if err != nil {
		f.refuseTLS(conn, visit, reasonOf(err), peek.InternalError)
		return
	}
	both := closers{conn, upstream}
	entry, err := f.Register.Add(visit.source, both, f.holdsPassed(visit, upstream))
	if err != nil {
		_ = upstream.Close()
		f.refuseTLS(conn, visit, reasonOf(err), peek.AccessDenied)
		return
	}
	defer entry.Remove()
	event := visit.event(tell.Passed, decision.Reason)
	f.noteObserved(event)
	if _, err := upstream.Write(hello.Bytes); err != nil {
		_ = both.Close()
		event.Reason, event.Err = rules.Unreachable, err
		f.Teller.Record(event)
		return
	}
	sent, received := relay.Both(conn, upstream, f.Idle)
	event.Sent, event.Received, event.Took = sent+int64(len(hello.Bytes)), received, time.Since(visit.begun)
	f.Teller.Record(event)
}

// noteObserved reports at once what a list would have refused: the connection may last for hours.
func (f *Front) noteObserved(event tell.Event) {
	if event.Reason == rules.Observed {
		f.Teller.Note(event)
	}
}

type closers []net.Conn

func (c closers) Close() error {
	for _, conn := range c {
		_ = conn.Close()
	}
	return nil
}

// look ends the TLS of a client, and hands the connection over to the server of requests.
func (f *Front) look(ctx context.Context, conn net.Conn, visit visit, decision rules.Decision) {
	proven := f.prove(ctx, visit, decision)
	below := &hooked{Conn: conn, onClose: func() {}}
	secure, err := f.shake(ctx, below, visit.host)
	if err != nil {
		// The client trusts another authority, or pins the certificate. It is not passed on instead.
		f.Metrics.Handshakes.WithLabelValues("refused").Inc()
		f.endLooked(conn, visit, rules.HandshakeRefused, err)
		return
	}
	f.Metrics.Handshakes.WithLabelValues("done").Inc()
	// Without a proof requests are refused, and hear why.
	visit.unproven = <-proven
	visit.proven = visit.unproven == nil && decision.Rule != nil
	entry, err := f.Register.Add(visit.source, conn, visit.holdsLooked(decision.Rule, f.Store.Value))
	if err != nil {
		f.endLooked(conn, visit, reasonOf(err), err)
		return
	}
	below.onClose = func() {
		entry.Remove()
		f.looked.forget(secure)
	}
	f.looked.give(secure, visit)
}

func (f *Front) shake(ctx context.Context, conn net.Conn, host string) (*tls.Conn, error) {
	leaf, err := f.Mint.Leaf(host)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{*leaf}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		// A ticket of one replica is of no use at another.
		SessionTicketsDisabled: true,
	}
	secure := tls.Server(conn, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	return secure, secure.HandshakeContext(ctx)
}

func (f *Front) endLooked(conn net.Conn, visit visit, reason rules.Reason, err error) {
	event := visit.event(tell.Looked, reason)
	event.Err = err
	f.Teller.Record(event)
	_ = conn.Close()
}

// prove asks the daemon beside the handshake. A connection without a rule carries no credential, and needs no proof.
func (f *Front) prove(ctx context.Context, visit visit, decision rules.Decision) <-chan error {
	proven := make(chan error, 1)
	if decision.Rule == nil || f.ByAddress {
		proven <- nil
		return proven
	}
	go func() { proven <- f.askProof(ctx, visit) }()
	return proven
}

func (f *Front) askProof(ctx context.Context, visit visit) error {
	err := f.Prover.Prove(ctx, visit.source, visit.sandbox)
	result := "done"
	if err != nil {
		result = "failed"
	}
	f.Metrics.Proofs.WithLabelValues(result).Inc()
	return err
}
