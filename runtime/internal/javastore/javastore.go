// Package javastore puts authorities into the stores of roots that JVMs read, and takes them out again. A store comes from an
// image, so its content may be hostile: it decides neither how much memory is taken nor how long a change lasts.
package javastore

import (
	"bytes"
	"crypto/x509"
	"errors"
	"strconv"
)

// maxBytes bounds a store: usual ones have a sixth of a MiB.
const maxBytes = 4 << 20

// aliasPrefix marks the authorities in a store. A later call finds by it what it has to replace.
const aliasPrefix = "sandlot-egress-"

var (
	errFormat = errors.New("expected a key store of Java: JKS or PKCS#12")
	errJKS    = errors.New("expected JKS of certificates alone, with the password that Java's own stores have")
	errPKCS12 = errors.New("expected PKCS#12 without a password")
)

// Replace returns a store with these authorities in place of those of an earlier call, in the same format. If it has exactly
// these, the store comes back as it is. A store that is damaged, or has another password, is an error.
func Replace(store []byte, authorities []*x509.Certificate) ([]byte, error) {
	switch {
	case len(store) > maxBytes:
		return nil, errFormat
	case bytes.HasPrefix(store, jksMagic):
		return replaceInJKS(store, authorities)
	case bytes.HasPrefix(store, pkcs12Start):
		return replaceInPKCS12(store, authorities)
	default:
		return nil, errFormat
	}
}

func ownAlias(index int) string { return aliasPrefix + strconv.Itoa(index+1) }
