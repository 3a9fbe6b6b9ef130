// Package mint makes certificates for the hosts whose requests a rule changes.
package mint

import (
	"container/list"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"
)

const (
	life = 7 * 24 * time.Hour
	// earlier is how far the clock of a sandbox may be behind.
	earlier = time.Hour
	// renewal is when a leaf is made anew: the rest of its life is longer than any connection.
	renewal   = life / 2
	maxLeaves = 10_000
)

// Mint signs leaves by one authority, each for exactly one name, and keeps the latest of them in memory.
type Mint struct {
	authority *x509.Certificate
	signer    *tls.Certificate
	now       func() time.Time
	mutex     sync.Mutex
	leaves    map[string]*list.Element
	// order has the leaf that was used last in front.
	order *list.List
}

type leaf struct {
	name        string
	certificate *tls.Certificate
	madeAt      time.Time
}

// New makes a mint of the certificate and the key of an authority, as PEM.
func New(certificate, key []byte, now func() time.Time) (*Mint, error) {
	signer, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the authority of egress: %w", err)
	}
	if !signer.Leaf.IsCA {
		return nil, errors.New("the authority of egress: its certificate is not one of an authority")
	}
	return &Mint{authority: signer.Leaf, signer: &signer, now: now, leaves: map[string]*list.Element{}, order: list.New()}, nil
}

// Leaf returns a certificate for a normalised name.
func (m *Mint) Leaf(name string) (*tls.Certificate, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	now := m.now()
	if element, found := m.leaves[name]; found {
		if kept, _ := element.Value.(*leaf); now.Sub(kept.madeAt) < renewal {
			m.order.MoveToFront(element)
			return kept.certificate, nil
		}
		m.forget(element)
	}
	certificate, err := m.sign(name, now)
	if err != nil {
		return nil, err
	}
	m.leaves[name] = m.order.PushFront(&leaf{name: name, certificate: certificate, madeAt: now})
	if m.order.Len() > maxLeaves {
		m.forget(m.order.Back())
	}
	return certificate, nil
}

func (m *Mint) forget(element *list.Element) {
	kept, _ := m.order.Remove(element).(*leaf)
	delete(m.leaves, kept.name)
}

func (m *Mint) sign(name string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// The subject stays empty: a common name has at most 64 characters, and clients read the other names only.
		Subject:     pkix.Name{},
		DNSNames:    []string{name},
		NotBefore:   now.Add(-earlier),
		NotAfter:    earliest(now.Add(life), m.authority.NotAfter),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, m.authority, key.Public(), m.signer.PrivateKey)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key, Leaf: parsed}, nil
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
