package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// MaxBytes bounds a text with authorities.
const MaxBytes = 64 << 10

const pemType = "CERTIFICATE"

// errNoCertificates does not repeat the text, which could be a key that came here by mistake.
var errNoCertificates = errors.New("expected certificates in PEM and nothing else but comments before them")

// Certificates returns the certificates of a text in PEM without anything else; the empty text has none. Text behind the last
// certificate and blocks of another kind are errors.
func Certificates(text string) (string, error) {
	if len(text) > MaxBytes {
		return "", fmt.Errorf("expected at most %d KiB of certificates", MaxBytes>>10)
	}
	var found strings.Builder
	rest := []byte(text)
	for len(bytes.TrimSpace(rest)) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != pemType {
			return "", errNoCertificates
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", errNoCertificates
		}
		found.Write(encode(block.Bytes))
	}
	return found.String(), nil
}

func encode(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: certificate})
}

func encodeAll(certificates [][]byte) string {
	var text strings.Builder
	for _, each := range certificates {
		text.Write(encode(each))
	}
	return text.String()
}

// keepCertificates returns the certificates of a text in PEM, such as a store of the image. What else stands there is dropped:
// the file may be another one than it should be, and everybody may read the copy.
func keepCertificates(text []byte) (found [][]byte) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return found
		}
		if block.Type == pemType {
			found = append(found, block.Bytes)
		}
	}
}

// parse leaves out what cannot be read: one such certificate would close a store to a JVM.
func parse(certificates [][]byte) (parsed []*x509.Certificate) {
	for _, each := range certificates {
		if certificate, err := x509.ParseCertificate(each); err == nil {
			parsed = append(parsed, certificate)
		}
	}
	return parsed
}
