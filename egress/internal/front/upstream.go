package front

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"sandlot.dev/egress/internal/rules"
)

// upstreamIdle is how long a connection to an upstream waits for another request.
const upstreamIdle = 90 * time.Second

// upstreams has connections to upstreams for each sandbox and claim: two of them share none, and so no session and no cookie.
type upstreams struct {
	front *Front
	mutex sync.Mutex
	known map[owner]*upstream
}

// owner has the address too: a sandbox that was resumed has another one, and its transports look up by what is theirs.
type owner struct {
	uid, claimUID string
	source        netip.Addr
}

// upstream makes requests for one sandbox.
type upstream struct {
	// modern speaks HTTP/2 where the upstream does, and plain HTTP/1.1, by which connections are upgraded.
	modern, plain *http.Transport
	usedAt        time.Time
}

func newUpstreams(front *Front) *upstreams {
	return &upstreams{front: front, known: map[owner]*upstream{}}
}

func (u *upstreams) get(visit visit) *upstream {
	key := owner{visit.sandbox.UID, visit.sandbox.ClaimUID, visit.source}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	found := u.known[key]
	if found == nil {
		found = &upstream{modern: u.front.makeTransport(visit, true), plain: u.front.makeTransport(visit, false)}
		u.known[key] = found
	}
	found.usedAt = time.Now()
	return found
}

// sweep closes what was not used for longer than a connection waits.
func (u *upstreams) sweep() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for key, each := range u.known {
		if time.Since(each.usedAt) > upstreamIdle {
			each.modern.CloseIdleConnections()
			each.plain.CloseIdleConnections()
			delete(u.known, key)
		}
	}
}

var errNoName = errors.New("the upstream has no name")

// makeTransport verifies every upstream by its name. It follows no proxy of the environment.
func (f *Front) makeTransport(visit visit, isModern bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(isModern)
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			to, err := f.readTarget(visit, address)
			if err != nil {
				return nil, err
			}
			conn, err := f.dial(ctx, to)
			if err != nil {
				return nil, err
			}
			return f.keep(conn, to)
		},
		TLSClientConfig:        &tls.Config{RootCAs: f.Roots, MinVersion: tls.VersionTLS12},
		Protocols:              protocols,
		ForceAttemptHTTP2:      isModern,
		DisableCompression:     true,
		TLSHandshakeTimeout:    handshakeLimit,
		ResponseHeaderTimeout:  f.Headers,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        upstreamIdle,
		MaxIdleConnsPerHost:    8,
		MaxResponseHeaderBytes: maxAnswer,
	}
}

// readTarget decides once more: an upstream is dialled by what holds at that moment.
func (f *Front) readTarget(visit visit, address string) (visit, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return visit, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return visit, err
	}
	visit.port = uint16(number)
	now := f.Store.Find(visit.source)
	if !visit.isSame(now) {
		return visit, errNoName
	}
	visit.sandbox = now
	if decision := visit.decide(name); !decision.Allowed {
		return visit, errDenied(decision.Reason)
	}
	return visit, nil
}

type errDenied rules.Reason

func (e errDenied) Error() string { return "the host is refused: " + string(e) }
