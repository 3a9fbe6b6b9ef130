package proof

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// key returns a key pair that depends only on the seed.
func key(seed byte) ed25519.PrivateKey {
	text := make([]byte, ed25519.SeedSize)
	text[0] = seed
	return ed25519.NewKeyFromSeed(text)
}

func publicOf(secret ed25519.PrivateKey) ed25519.PublicKey {
	return secret.Public().(ed25519.PublicKey)
}

// given is a proof as a gateway would make it.
type given struct {
	secret       ed25519.PrivateKey
	uid, address string
	at           time.Time
}

func (g given) header() string {
	stamp := strconv.FormatInt(g.at.UnixMilli(), 10)
	signature := ed25519.Sign(g.secret, SignedText(g.uid, g.address, stamp))
	return stamp + ";" + g.address + ";" + base64.StdEncoding.EncodeToString(signature)
}

// arrive returns a request from a peer that arrived at a local address.
func arrive(peer, local, header string) *http.Request {
	request := httptest.NewRequest("GET", "/", nil)
	request.RemoteAddr = net.JoinHostPort(peer, "4321")
	at := &net.TCPAddr{IP: net.ParseIP(local), Port: 8888}
	request = request.WithContext(context.WithValue(request.Context(), http.LocalAddrContextKey, at))
	if header != "" {
		request.Header.Set(Header, header)
	}
	return request
}

func TestOnlyAProofForThisSandboxHereAndNowIsAccepted(t *testing.T) {
	const uid, here = "uid-1", "10.0.0.7"
	current, announced, other := key(1), key(2), key(3)
	keys := []ed25519.PublicKey{publicOf(current), publicOf(announced)}
	for _, row := range []struct {
		name  string
		proof given
		local string
		want  bool
	}{
		{"the gateway", given{current, uid, here, noon}, here, true},
		{"the gateway with a key that was announced", given{announced, uid, here, noon}, here, true},
		{"the gateway over IPv6", given{current, uid, "fd00:0::7", noon}, "fd00::7", true},
		{"another installation", given{other, uid, here, noon}, here, false},
		{"a proof for another sandbox", given{current, "uid-2", here, noon}, here, false},
		{"a proof for an address that another pod had", given{current, uid, "10.0.0.8", noon}, here, false},
		{"a proof from before", given{current, uid, here, noon.Add(-tolerance - time.Millisecond)}, here, false},
		{"a clock behind ours", given{current, uid, here, noon.Add(-tolerance)}, here, true},
		{"a clock ahead of ours", given{current, uid, here, noon.Add(tolerance)}, here, true},
		{"a proof from the future", given{current, uid, here, noon.Add(tolerance + time.Millisecond)}, here, false},
		{"an address that is none", given{current, uid, "here", noon}, here, false},
	} {
		verifier := NewVerifier(keys, uid, func() time.Time { return noon })
		request := arrive("10.0.0.1", row.local, row.proof.header())
		// The second time, the verifier remembers the signature.
		for range 2 {
			if got := verifier.IsFromGateway(request); got != row.want {
				t.Errorf("%s: got %v", row.name, got)
			}
		}
		if NewVerifier(nil, uid, func() time.Time { return noon }).IsFromGateway(request) {
			t.Errorf("%s: accepted without a key", row.name)
		}
	}
}

func TestAProofThatIsRememberedExpires(t *testing.T) {
	now := noon
	verifier := NewVerifier([]ed25519.PublicKey{publicOf(key(1))}, "uid-1", func() time.Time { return now })
	request := arrive("10.0.0.1", "10.0.0.7", given{key(1), "uid-1", "10.0.0.7", noon}.header())
	if !verifier.IsFromGateway(request) {
		t.Error("refused at first")
	}
	now = noon.Add(tolerance + time.Second)
	if verifier.IsFromGateway(request) {
		t.Error("accepted after its time")
	}
}

func TestProofsOfManyGatewaysTakeBoundedMemory(t *testing.T) {
	verifier := NewVerifier([]ed25519.PublicKey{publicOf(key(1))}, "uid-1", func() time.Time { return noon })
	for each := range 3 * maxKnown {
		at := noon.Add(time.Duration(each) * time.Millisecond)
		if !verifier.IsFromGateway(arrive("10.0.0.1", "10.0.0.7", given{key(1), "uid-1", "10.0.0.7", at}.header())) {
			t.Fatalf("refused number %d", each)
		}
		if len(verifier.known) > maxKnown {
			t.Fatalf("keeps %d proofs", len(verifier.known))
		}
	}
}

func TestARequestIsFromInsideWhenBothEndsAreOnLoopback(t *testing.T) {
	for _, row := range []struct {
		name, peer, local string
		want              bool
	}{
		{"a process of the Pod", "127.0.0.1", "127.0.0.1", true},
		{"a process of the Pod over IPv6", "::1", "::1", true},
		{"another Pod", "10.0.0.8", "10.0.0.7", false},
		{"a process of the Pod that uses its address", "10.0.0.7", "10.0.0.7", false},
		{"a proxy of a service mesh, for another Pod", "127.0.0.6", "10.0.0.7", false},
		{"a packet with a forged source", "10.0.0.8", "127.0.0.1", false},
	} {
		if got := IsFromInside(arrive(row.peer, row.local, "")); got != row.want {
			t.Errorf("%s: got %v", row.name, got)
		}
	}
	if IsFromInside(httptest.NewRequest("GET", "/", nil)) {
		t.Error("a request of an unknown connection counts as from inside")
	}
}

func FuzzWhatTheGatewayDidNotSignIsNoProof(f *testing.F) {
	elsewhere := given{key(1), "uid-2", "10.0.0.7", noon}.header()
	f.Add(elsewhere)
	f.Add("1;10.0.0.7;")
	f.Add(";;")
	f.Fuzz(func(t *testing.T, header string) {
		verifier := NewVerifier([]ed25519.PublicKey{publicOf(key(1))}, "uid-1", func() time.Time { return noon })
		if verifier.IsFromGateway(arrive("10.0.0.1", "10.0.0.7", header)) {
			t.Errorf("accepted %q", header)
		}
	})
}
