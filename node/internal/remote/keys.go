package remote

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"
)

const secretBytes = 32

var keyID = regexp.MustCompile(`^[a-z0-9][-.a-z0-9]{0,62}$`)

// keyRing has the secrets of the installation.
type keyRing struct {
	// first is the id of the secret for uploads. The others open what was uploaded before.
	first   string
	secrets map[string][]byte
}

// readKeyRing reads a file with a line "ID SECRET" for each secret, SECRET being 32 bytes in base64. The first one seals.
func readKeyRing(path string) (keyRing, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return keyRing{}, fmt.Errorf("the keys for the bucket cannot be read: %w", err)
	}
	ring := keyRing{secrets: map[string][]byte{}}
	for number, lines := 1, bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := ring.add(line); err != nil {
			return keyRing{}, fmt.Errorf("%s, line %d: %w", path, number, err)
		}
	}
	if ring.first == "" {
		return keyRing{}, fmt.Errorf("%s has no key: write a line with an id, a space and 32 random bytes in base64", path)
	}
	return ring, nil
}

// add never puts the line into an error: it is a secret.
func (r *keyRing) add(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 2 || !keyID.MatchString(fields[0]) {
		return fmt.Errorf("it must be an id of small letters, digits, points and dashes, a space, and a secret")
	}
	id := fields[0]
	secret, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(secret) != secretBytes {
		return fmt.Errorf("the secret of %s must be %d bytes in base64", id, secretBytes)
	}
	if _, isTwice := r.secrets[id]; isTwice {
		return fmt.Errorf("the id %s is there twice: give the new secret a new id", id)
	}
	r.secrets[id] = secret
	if r.first == "" {
		r.first = id
	}
	return nil
}

// deriveNamespaceKey returns a key that says nothing about the secret, or about the key of another namespace.
func (r keyRing) deriveNamespaceKey(id, namespace string) ([]byte, error) {
	secret, isKnown := r.secrets[id]
	if !isKnown {
		return nil, fmt.Errorf("the node has no key %q", id)
	}
	return derive(secret, nil, "sandlot snapshots 1 namespace\x00"+namespace, secretBytes)
}

func derive(secret, salt []byte, info string, length int) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, salt, info, length)
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
