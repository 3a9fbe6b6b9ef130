package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/state"
)

// ProvePath is where the egress proxy asks a sandbox who it is.
const ProvePath = "/egress/prove"

const (
	// provePurpose keeps an answer from being used for anything else. The proxy has the same text.
	provePurpose  = "sandlot-egress-prove-v1\n"
	nonceSize     = 32
	maxProveBytes = 1 << 10
)

type question struct {
	Nonce []byte `json:"nonce"`
}

type proven struct {
	MAC []byte `json:"mac"`
}

// Prove returns the handler of POST /egress/prove (docs/reference/runtime.md#proof-for-the-egress-proxy). The answer is bound to the
// address at which the proxy asked: a Pod that has the address of another one cannot pass the question on to that one.
func Prove(store *state.Store) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked question
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxProveBytes))
		if err := decoder.Decode(&asked); err != nil || len(asked.Nonce) != nonceSize {
			httpx.WriteError(w, httpx.Fail(http.StatusBadRequest, "the nonce must be 32 bytes in base64"))
			return
		}
		proof := store.Current().EgressProof
		address, known := localAddress(r)
		if len(proof) == 0 || !known {
			httpx.WriteError(w, httpx.Fail(http.StatusNotFound, "this sandbox has no proof for the egress proxy"))
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		httpx.WriteJSON(w, http.StatusOK, proven{ComputeProof(proof, address, asked.Nonce)})
	})
}

// ComputeProof returns the answer of a sandbox that was asked at an address.
func ComputeProof(proof []byte, address netip.Addr, nonce []byte) []byte {
	mac := hmac.New(sha256.New, proof)
	mac.Write([]byte(provePurpose + address.Unmap().WithZone("").String() + "\n"))
	mac.Write(nonce)
	return mac.Sum(nil)
}

// localAddress is the one that the client connected to.
func localAddress(r *http.Request) (netip.Addr, bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.Addr{}, false
	}
	target, err := netip.ParseAddrPort(local.String())
	return target.Addr(), err == nil
}
