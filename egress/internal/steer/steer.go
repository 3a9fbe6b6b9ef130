// Package steer is the resolver of sandboxes: it answers the names that a sandbox may reach with the address of the proxy.
package steer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
	"sandlot.dev/egress/addresses"
	"sandlot.dev/egress/internal/names"
	"sandlot.dev/egress/internal/resolve"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/internal/tell"
)

const (
	// ttl is how long a sandbox may go by an answer, in seconds, so that a change of its rules is felt soon.
	ttl = 5
	// forwardLimit is the time for an answer of the cluster's servers.
	forwardLimit = 4 * time.Second
	// maxFrame is the EDNS size that fits a packet on every path.
	maxFrame = 1232
)

// Config is what the resolver goes by.
type Config struct {
	// Find returns what holds for a source, or nil.
	Find func(ctx context.Context, source netip.Addr) *rules.Sandbox
	// Allow counts a question against the limit of the source.
	Allow func(source netip.Addr) bool
	// Proxy returns where the names that a sandbox may reach lead. It is valid once Find has found a sandbox.
	Proxy     func() rules.Proxy
	Forward   func(ctx context.Context, question *dns.Msg) (*dns.Msg, error)
	IsBlocked func(netip.Addr) bool
	Teller    *tell.Teller
	Metrics   *tell.Metrics
}

// Resolver implements dns.Handler.
type Resolver struct{ Config }

// ServeDNS answers a question, each with a response.
func (r Resolver) ServeDNS(writer dns.ResponseWriter, question *dns.Msg) {
	response := r.answer(readSource(writer.RemoteAddr()), question)
	if writer.RemoteAddr().Network() == "udp" {
		response.Truncate(sizeFor(question))
	}
	_ = writer.WriteMsg(response)
}

func readSource(address net.Addr) netip.Addr {
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Addr{}
	}
	return parsed.Addr().Unmap()
}

func sizeFor(question *dns.Msg) int {
	if options := question.IsEdns0(); options != nil {
		return int(min(max(options.UDPSize(), dns.MinMsgSize), maxFrame))
	}
	return dns.MinMsgSize
}

func (r Resolver) answer(source netip.Addr, question *dns.Msg) *dns.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), forwardLimit)
	defer cancel()
	if question.Opcode != dns.OpcodeQuery || len(question.Question) != 1 || question.Question[0].Qclass != dns.ClassINET {
		return fail(question, dns.RcodeNotImplemented)
	}
	sandbox := r.Find(ctx, source)
	if sandbox == nil {
		r.Metrics.Unknown.WithLabelValues(string(tell.DNS)).Inc()
		return r.count("unknown_source", fail(question, dns.RcodeRefused))
	}
	if !r.Allow(source) {
		return r.count("limited", fail(question, dns.RcodeRefused))
	}
	name, err := names.Normalise(question.Question[0].Name)
	if err != nil {
		return r.deny(source, sandbox, question, rules.NotListed)
	}
	return r.decide(ctx, source, sandbox, name, question)
}

func (r Resolver) count(result string, response *dns.Msg) *dns.Msg {
	r.Metrics.Queries.WithLabelValues(result).Inc()
	return response
}

// decide is the table of what a sandbox may ask. Nothing of a closed sandbox is forwarded, so that no name carries data out.
func (r Resolver) decide(
	ctx context.Context, source netip.Addr, sandbox *rules.Sandbox, name string, question *dns.Msg,
) *dns.Msg {
	isListed := !sandbox.Closed || sandbox.Observe || sandbox.HasName(name)
	switch {
	case sandbox.Closed && names.IsReserved(name):
		return r.deny(source, sandbox, question, rules.Reserved)
	case !isListed:
		return r.deny(source, sandbox, question, rules.NotListed)
	case sandbox.FindRule(name) != nil:
		return r.count("steered", reply(question, r.Proxy().Inspected))
	case sandbox.Closed:
		return r.count("steered", reply(question, r.Proxy().Passed))
	}
	return r.forward(ctx, question)
}

// deny says that the name does not exist, without a SOA, so that clients ask again after a change.
func (r Resolver) deny(source netip.Addr, sandbox *rules.Sandbox, question *dns.Msg, reason rules.Reason) *dns.Msg {
	if !sandbox.Closed {
		return r.count("refused", fail(question, dns.RcodeNameError))
	}
	host := question.Question[0].Name
	r.Teller.Record(tell.Event{Sandbox: sandbox, Source: source.String(), Protocol: tell.DNS, Host: host, Reason: reason})
	response := fail(question, dns.RcodeNameError)
	if options := question.IsEdns0(); options != nil {
		response.SetEdns0(maxFrame, false)
		extended := &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeProhibited, ExtraText: "not in allowOut"}
		response.IsEdns0().Option = append(response.IsEdns0().Option, extended)
	}
	return r.count("refused", response)
}

func fail(question *dns.Msg, code int) *dns.Msg {
	response := new(dns.Msg)
	response.SetRcode(question, code)
	response.RecursionAvailable = true
	return response
}

// reply answers with the proxy. Types other than addresses have no data: records of type HTTPS would bring keys for encrypted names.
func reply(question *dns.Msg, proxy rules.Addresses) *dns.Msg {
	response := new(dns.Msg).SetReply(question)
	response.RecursionAvailable = true
	asked := question.Question[0]
	header := dns.RR_Header{Name: asked.Name, Rrtype: asked.Qtype, Class: dns.ClassINET, Ttl: ttl}
	switch {
	case asked.Qtype == dns.TypeA && proxy.Four.IsValid():
		response.Answer = []dns.RR{&dns.A{Hdr: header, A: proxy.Four.AsSlice()}}
	case asked.Qtype == dns.TypeAAAA && proxy.Six.IsValid():
		response.Answer = []dns.RR{&dns.AAAA{Hdr: header, AAAA: proxy.Six.AsSlice()}}
	}
	return response
}

// forward asks for an open sandbox, and takes out addresses that it may not reach.
func (r Resolver) forward(ctx context.Context, question *dns.Msg) *dns.Msg {
	asked := new(dns.Msg).SetQuestion(question.Question[0].Name, question.Question[0].Qtype)
	asked.SetEdns0(maxFrame, false)
	found, err := r.Forward(ctx, asked)
	if err != nil {
		return r.count("failed", fail(question, dns.RcodeServerFailure))
	}
	response := fail(question, found.Rcode)
	for _, record := range found.Answer {
		if r.isPrivate(record) {
			continue
		}
		record.Header().Ttl = min(record.Header().Ttl, ttl)
		response.Answer = append(response.Answer, record)
	}
	return r.count("forwarded", response)
}

func (r Resolver) isPrivate(record dns.RR) bool {
	address, isOne := resolve.ReadAddress(record)
	if !isOne {
		return false
	}
	for _, each := range addresses.Reveal(address) {
		if r.IsBlocked(each) {
			return true
		}
	}
	return false
}

// Serve answers on both sockets until the context ends.
func (r Resolver) Serve(ctx context.Context, packets net.PacketConn, listener net.Listener) error {
	servers := []*dns.Server{{PacketConn: packets, Handler: r}, {Listener: listener, Handler: r}}
	ended := make(chan error, len(servers))
	for _, server := range servers {
		go func() { ended <- server.ActivateAndServe() }()
	}
	stop := context.AfterFunc(ctx, func() { _, _ = packets.Close(), listener.Close() })
	defer stop()
	err := <-ended
	_, _ = packets.Close(), listener.Close()
	err = errors.Join(err, <-ended)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
