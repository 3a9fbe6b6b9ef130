// Package identity lets a sandbox prove who it is before its connection carries a credential: an address may have gone to another Pod.
package identity

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"sandlot.dev/egress/internal/rules"
)

const (
	// Limit is the time that a daemon has for its answer.
	Limit = 500 * time.Millisecond
	// purpose keeps an answer from being used for anything else. The daemon has the same text.
	purpose   = "sandlot-egress-prove-v1\n"
	nonceSize = 32
	maxAnswer = 4 << 10
)

// ErrNotProven says that the daemon at the address is not that of the sandbox.
var ErrNotProven = errors.New("the daemon did not prove that it is the sandbox's")

// Question is what the daemon is asked, and Answer what it says. Both are in base64 on the wire.
type Question struct {
	Nonce []byte `json:"nonce"`
}

// Answer proves that the daemon knows the proof of its sandbox.
type Answer struct {
	MAC []byte `json:"mac"`
}

// Compute returns the answer of a sandbox that is asked at an address. The address is in it so that a Pod which has the address of
// another one cannot pass the question on to that one.
func Compute(proof []byte, address netip.Addr, nonce []byte) []byte {
	mac := hmac.New(sha256.New, proof)
	mac.Write([]byte(purpose + address.Unmap().WithZone("").String() + "\n"))
	mac.Write(nonce)
	return mac.Sum(nil)
}

// Prover asks daemons.
type Prover struct {
	port   uint16
	client *http.Client
}

// NewProver makes a prover that asks on this port.
func NewProver(port uint16) *Prover {
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Prover{port: port, client: &http.Client{Transport: transport, CheckRedirect: stay, Timeout: Limit}}
}

// Prove returns an error unless the daemon at the address has the proof of the sandbox.
func (p *Prover) Prove(ctx context.Context, address netip.Addr, sandbox *rules.Sandbox) error {
	if len(sandbox.Proofs) == 0 {
		return fmt.Errorf("%w: the sandbox has no daemon", ErrNotProven)
	}
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	mac, err := p.ask(ctx, address, nonce)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotProven, err)
	}
	isProven := func(proof []byte) bool { return len(proof) > 0 && hmac.Equal(mac, Compute(proof, address, nonce)) }
	if !slices.ContainsFunc(sandbox.Proofs, isProven) {
		return ErrNotProven
	}
	return nil
}

func (p *Prover) ask(ctx context.Context, address netip.Addr, nonce []byte) ([]byte, error) {
	body, err := json.Marshal(Question{nonce})
	if err != nil {
		return nil, err
	}
	url := "http://" + netip.AddrPortFrom(address, p.port).String() + "/egress/prove"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New("it answered " + strconv.Itoa(response.StatusCode))
	}
	var answer Answer
	err = json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer)
	return answer.MAC, err
}
