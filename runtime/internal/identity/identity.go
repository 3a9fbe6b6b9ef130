// Package identity has the key by which callers recognise the daemon of their sandbox
// (docs/reference/runtime.md#identity), and serves TLS with it beside plain HTTP.
package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// fileName is the file of the private key, beside the binary.
	fileName = "identity.key"
	pemType  = "PRIVATE KEY"
	// messagePrefix begins the text by which the kubelet publishes an identity.
	messagePrefix = "sandlot-identity:v1:"
)

// Create makes a key in dir, in place of an earlier one, and returns its public part. Every user of the container may
// read the file: which one the daemon runs as is not known here, and the key stands for this sandbox alone.
func Create(dir string) (ed25519.PublicKey, error) {
	public, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the sandbox: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		return nil, fmt.Errorf("making the key of the sandbox: %w", err)
	}
	return public, replace(filepath.Join(dir, fileName), pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
}

// replace writes a file that everybody may read and no later installation has to open.
func replace(path string, content []byte) error {
	partial, err := os.CreateTemp(filepath.Dir(path), ".identity-*")
	if err != nil {
		return fmt.Errorf("storing the key of the sandbox: %w", err)
	}
	defer os.Remove(partial.Name())
	_, err = partial.Write(content)
	if err == nil {
		err = partial.Chmod(0o444)
	}
	if closing := partial.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(partial.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("storing the key of the sandbox: %w", err)
	}
	return nil
}

// Message returns the text that publishes an identity: the SHA-256 of the public key, and the ports that the daemon
// serves with it.
func Message(public ed25519.PublicKey, ports ...int) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("publishing the key of the sandbox: %w", err)
	}
	sum := sha256.Sum256(der)
	texts := []string{}
	for _, port := range ports {
		texts = append(texts, strconv.Itoa(port))
	}
	return messagePrefix + base64.RawURLEncoding.EncodeToString(sum[:]) + ":" + strings.Join(texts, ","), nil
}

// Load returns the settings of TLS with the key in dir; nil without a key there, as in images that bring their own
// daemon.
func Load(dir string) (*tls.Config, error) {
	secret, err := read(filepath.Join(dir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; install the daemon again", err)
	}
	return configure(secret)
}

// LoadMounted returns the settings of TLS with the key in a file that is mounted from a Secret. The Pod announces its key,
// by the text that Message returns. Callers would refuse another one, so it is an error.
func LoadMounted(path, announced string) (*tls.Config, error) {
	secret, err := read(path)
	if err == nil {
		err = checkAnnounced(secret, announced)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; delete the Secret that the volume of this file names, then the Pod: both are made anew", err)
	}
	return configure(secret)
}

func read(path string) (ed25519.PrivateKey, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key of the sandbox: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s has no key in PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		// The error of the parser could repeat a part of the key.
		return nil, fmt.Errorf("%s has no key that can be read", path)
	}
	secret, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s has another kind of key than Ed25519", path)
	}
	return secret, nil
}

// checkAnnounced compares keys and not ports: those are what callers protect, whatever the daemon serves.
func checkAnnounced(secret ed25519.PrivateKey, announced string) error {
	own, err := Message(secret.Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(announced, own) {
		return errors.New("the key of the sandbox is not the one that SANDLOT_IDENTITY announces")
	}
	return nil
}

// configure signs a certificate. Callers look at its key alone: names and dates mean nothing, so it never expires.
func configure(secret ed25519.PrivateKey) (*tls.Config, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of the sandbox: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: secret}},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"http/1.1"},
		// Callers keep connections and resume no sessions.
		SessionTicketsDisabled: true,
	}, nil
}
