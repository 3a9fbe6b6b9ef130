// Package hop recognises requests of the release by their signature.
package hop

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Scheme begins the value of the Authorization header: `Sandlot EXPIRES.SIGNATURE`, with Unix seconds.
const Scheme = "Sandlot "

// purpose keeps a signature from meaning something elsewhere.
const purpose = "sandlot-volumes"

// longest is how far a signature may reach into the future: one that is overheard is of use no longer.
const longest = 5 * time.Minute

// Verifier knows the keys whose signatures count.
type Verifier struct {
	namespace string
	keys      []ed25519.PublicKey
	now       func() time.Time
}

// ErrRefused says that the request is not one of the release.
var ErrRefused = errors.New("the request has no signature of this release")

// NewVerifier takes public keys in base64url, separated by commas, and the namespace whose volumes are served.
func NewVerifier(keys, namespace string, now func() time.Time) (*Verifier, error) {
	verifier := &Verifier{namespace: namespace, now: now}
	for text := range strings.SplitSeq(keys, ",") {
		key, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, errors.New("expected public keys of Ed25519 in base64url, separated by commas")
		}
		verifier.keys = append(verifier.keys, key)
	}
	return verifier, nil
}

// Verify returns ErrRefused unless one of the keys signed method, path and query for this namespace, and time has not run out.
func (v *Verifier) Verify(request *http.Request) error {
	value, isOurs := strings.CutPrefix(request.Header.Get("Authorization"), Scheme)
	expiresText, signatureText, hasBoth := strings.Cut(value, ".")
	expires, err := strconv.ParseInt(expiresText, 10, 64)
	if !isOurs || !hasBoth || err != nil {
		return ErrRefused
	}
	signature, err := base64.RawURLEncoding.DecodeString(signatureText)
	now := v.now()
	if err != nil || expires < now.Unix() || expires > now.Add(longest).Unix() {
		return ErrRefused
	}
	text := []byte(strings.Join([]string{purpose, v.namespace, request.Method, request.RequestURI, expiresText}, "\n"))
	for _, key := range v.keys {
		if ed25519.Verify(key, text, signature) {
			return nil
		}
	}
	return ErrRefused
}
