// Package proof recognises requests that the gateway sends (docs/reference/runtime.md#proof-of-the-gateway).
package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Header carries a proof: Unix milliseconds, the address that the gateway dialled, and the base64 of a signature.
const Header = "X-Sandlot-Proof"

const (
	// tolerance is how far the clocks of gateway and node may differ. It bounds the use of a proof that was overheard.
	tolerance = 5 * time.Minute
	// maxKnown bounds the proofs that are kept: each gateway sends one for half a minute.
	maxKnown = 64
)

// Verifier recognises proofs for one sandbox. It is safe for concurrent use.
type Verifier struct {
	keys       []ed25519.PublicKey
	sandboxUID string
	now        func() time.Time

	mu sync.Mutex
	// known has proofs with a good signature, because verifying takes longer than the rest of a small request.
	known map[string]claim
}

// claim is what a proof says.
type claim struct {
	at      time.Time
	address netip.Addr
}

// NewVerifier returns a verifier for the gateway's keys. Without keys it recognises nothing.
func NewVerifier(keys []ed25519.PublicKey, sandboxUID string, now func() time.Time) *Verifier {
	return &Verifier{keys: keys, sandboxUID: sandboxUID, now: now, known: map[string]claim{}}
}

// IsFromGateway reports whether the request carries a proof for this sandbox, at the address where it arrived, from now.
func (v *Verifier) IsFromGateway(r *http.Request) bool {
	text := r.Header.Get(Header)
	if text == "" {
		return false
	}
	said, ok := v.recall(text)
	if !ok {
		return false
	}
	age := v.now().Sub(said.at)
	return age.Abs() <= tolerance && said.address == localAddress(r)
}

// recall returns what a proof with a good signature says.
func (v *Verifier) recall(text string) (claim, bool) {
	v.mu.Lock()
	said, ok := v.known[text]
	v.mu.Unlock()
	if ok {
		return said, true
	}
	// Without the lock: garbage of one caller must not delay the others.
	if said, ok = v.verify(text); !ok {
		return claim{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= maxKnown {
		clear(v.known)
	}
	v.known[text] = said
	return said, true
}

func (v *Verifier) verify(text string) (claim, bool) {
	parts := strings.Split(text, ";")
	if len(parts) != 3 {
		return claim{}, false
	}
	stamp, address, encoded := parts[0], parts[1], parts[2]
	unixMs, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return claim{}, false
	}
	dialled, err := netip.ParseAddr(address)
	if err != nil {
		return claim{}, false
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return claim{}, false
	}
	signed := SignedText(v.sandboxUID, address, stamp)
	for _, key := range v.keys {
		if ed25519.Verify(key, signed, signature) {
			return claim{time.UnixMilli(unixMs), dialled.Unmap()}, true
		}
	}
	return claim{}, false
}

// SignedText returns the text that the gateway signs. It binds a proof to one Sandbox, one address and one moment.
func SignedText(sandboxUID, address, unixMs string) []byte {
	return []byte("sandlot-gateway-v1\n" + sandboxUID + "\n" + address + "\n" + unixMs)
}

// IsFromInside reports whether the request comes over loopback at both ends: from a container of the Pod, or from
// `kubectl port-forward`. A proxy of a service mesh passes on what others send from a loopback address, but to the
// address of the Pod.
func IsFromInside(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback() && localAddress(r).IsLoopback()
}

// localAddress returns the address at which the request arrived.
func localAddress(r *http.Request) netip.Addr {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().Unmap().WithZone("")
}
