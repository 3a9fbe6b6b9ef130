// Package resolve looks names up for the proxy.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	// longest is how long an answer is kept, so that a change of DNS is seen soon.
	longest = time.Minute
	// maxNames bounds the answers that are kept.
	maxNames = 10_000
	// exchangeLimit is the time for one question to one server.
	exchangeLimit = 2 * time.Second
	// ednsSize is the answer that fits a packet on every path.
	ednsSize = 1232
)

// Resolver asks the servers for addresses of names, and keeps the answers as long as they say.
type Resolver struct {
	servers []string
	now     func() time.Time
	mutex   sync.Mutex
	kept    map[string]answer
}

type answer struct {
	addresses []netip.Addr
	until     time.Time
}

// New makes a resolver that asks the servers, each HOST:PORT, one after the other until one answers.
func New(servers []string, now func() time.Time) *Resolver {
	return &Resolver{servers: servers, now: now, kept: map[string]answer{}}
}

// ErrNoAddress says that the name exists nowhere or has no address.
var ErrNoAddress = errors.New("the name has no address")

// ErrNoAnswer says that no server could be asked for the name.
var ErrNoAnswer = errors.New("no DNS server answered")

// Lookup returns the addresses of a normalised name, those of IPv4 first.
func (r *Resolver) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if addresses, found := r.find(name); found {
		return addresses, nil
	}
	fresh, err := r.askBoth(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(fresh.addresses) == 0 {
		return nil, ErrNoAddress
	}
	r.keep(name, fresh)
	return fresh.addresses, nil
}

func (r *Resolver) find(name string) ([]netip.Addr, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	kept, found := r.kept[name]
	return kept.addresses, found && r.now().Before(kept.until)
}

func (r *Resolver) keep(name string, fresh answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.kept) >= maxNames {
		clear(r.kept)
	}
	r.kept[name] = fresh
}

// askBoth fails only if neither family has an answer.
func (r *Resolver) askBoth(ctx context.Context, name string) (answer, error) {
	type result struct {
		answer
		err error
	}
	six := make(chan result, 1)
	go func() {
		found, err := r.ask(ctx, name, dns.TypeAAAA)
		six <- result{found, err}
	}()
	four, err := r.ask(ctx, name, dns.TypeA)
	other := <-six
	if err != nil && other.err != nil {
		return answer{}, err
	}
	until := r.now().Add(longest)
	for _, each := range []answer{four, other.answer} {
		if len(each.addresses) > 0 && each.until.Before(until) {
			until = each.until
		}
	}
	return answer{append(four.addresses, other.addresses...), until}, nil
}

func (r *Resolver) ask(ctx context.Context, name string, kind uint16) (answer, error) {
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	question.SetEdns0(ednsSize, false)
	response, err := r.Exchange(ctx, question)
	if err != nil {
		return answer{}, err
	}
	found := answer{until: r.now().Add(longest)}
	for _, record := range response.Answer {
		if until := r.now().Add(time.Duration(record.Header().Ttl) * time.Second); until.Before(found.until) {
			found.until = until
		}
		if address, isOne := ReadAddress(record); isOne {
			found.addresses = append(found.addresses, address)
		}
	}
	return found, nil
}

// ReadAddress returns the address of an A or AAAA record.
func ReadAddress(record dns.RR) (netip.Addr, bool) {
	switch record := record.(type) {
	case *dns.A:
		address, ok := netip.AddrFromSlice(record.A.To4())
		return address, ok
	case *dns.AAAA:
		address, ok := netip.AddrFromSlice(record.AAAA.To16())
		return address, ok
	}
	return netip.Addr{}, false
}

// Exchange asks the servers one after the other, over TCP if the answer does not fit a packet. A name that does not exist is an answer.
func (r *Resolver) Exchange(ctx context.Context, question *dns.Msg) (*dns.Msg, error) {
	errs := []error{ErrNoAnswer}
	for _, server := range r.servers {
		response, err := exchange(ctx, question, server)
		if err == nil {
			return response, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	return nil, errors.Join(errs...)
}

func exchange(ctx context.Context, question *dns.Msg, server string) (*dns.Msg, error) {
	for _, network := range []string{"udp", "tcp"} {
		client := dns.Client{Net: network, Timeout: exchangeLimit}
		response, _, err := client.ExchangeContext(ctx, question, server)
		if err != nil {
			return nil, err
		}
		if response.Rcode != dns.RcodeSuccess && response.Rcode != dns.RcodeNameError {
			return nil, fmt.Errorf("it answered %s", dns.RcodeToString[response.Rcode])
		}
		if !response.Truncated {
			return response, nil
		}
	}
	return nil, errors.New("its answer over TCP is truncated")
}
