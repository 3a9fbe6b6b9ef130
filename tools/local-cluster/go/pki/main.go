// Command pki issues the cluster's certificates. It reads a request as JSON from standard input and writes
// NAME.crt and NAME.key files; a certificate authority or key that is already there is kept.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const validity = 10 * 365 * 24 * time.Hour

type request struct {
	// Dir holds ca.crt and ca.key, and receives everything else.
	Dir string `json:"dir"`
	// Keys are bare signing keys: NAME.key and NAME.pub.
	Keys         []string      `json:"keys"`
	Certificates []certificate `json:"certificates"`
}

type certificate struct {
	Name          string   `json:"name"`
	CommonName    string   `json:"commonName"`
	Organizations []string `json:"organizations"`
	DNSNames      []string `json:"dnsNames"`
	IPs           []string `json:"ips"`
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pki:", err)
		os.Exit(1)
	}
}

func run() error {
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	ca, err := loadOrCreateAuthority(r.Dir)
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	for _, name := range r.Keys {
		if err := ensureSigningKey(filepath.Join(r.Dir, name)); err != nil {
			return fmt.Errorf("key %s: %w", name, err)
		}
	}
	for _, c := range r.Certificates {
		if err := ca.issue(r.Dir, c); err != nil {
			return fmt.Errorf("certificate %s: %w", c.Name, err)
		}
	}
	return nil
}

func loadOrCreateAuthority(dir string) (*authority, error) {
	base := filepath.Join(dir, "ca")
	certDER, err := readPEM(base + ".crt")
	if errors.Is(err, fs.ErrNotExist) {
		return createAuthority(base)
	}
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, err
	}
	keyDER, err := readPEM(base + ".key")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(keyDER)
	return &authority{certificate: cert, key: key}, err
}

func createAuthority(base string) (*authority, error) {
	key, err := newKey(base + ".key")
	if err != nil {
		return nil, err
	}
	template := newTemplate("sandlot-local-ca")
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: cert, key: key}, writePEM(base+".crt", "CERTIFICATE", der)
}

// issue makes one certificate good for both ends of a connection: several components are client and server at once.
func (ca *authority) issue(dir string, c certificate) error {
	base := filepath.Join(dir, c.Name)
	key, err := newKey(base + ".key")
	if err != nil {
		return err
	}
	template := newTemplate(c.CommonName)
	template.Subject.Organization = c.Organizations
	template.DNSNames = c.DNSNames
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, text := range c.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return fmt.Errorf("not an IP address: %q", text)
		}
		template.IPAddresses = append(template.IPAddresses, ip)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return err
	}
	return writePEM(base+".crt", "CERTIFICATE", der)
}

func ensureSigningKey(base string) error {
	if _, err := os.Stat(base + ".pub"); err == nil {
		return nil
	}
	key, err := newKey(base + ".key")
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writePEM(base+".pub", "PUBLIC KEY", der)
}

func newTemplate(commonName string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails on Linux
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(validity),
	}
}

func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", der)
}

func readPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}

// writePEM renames into place: a reader, or a run after a crash, sees a whole file or none.
func writePEM(path, kind string, der []byte) error {
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
