package javastore

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"fmt"
	"maps"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"golang.org/x/crypto/cryptobyte"
)

var (
	jksMagic = []byte{0xfe, 0xed, 0xfe, 0xed}
	// jksPassword protects no secret: a JVM reads the roots without it.
	jksPassword = []byte("changeit")
)

const (
	jksTagOfRoot = 2
	// jksMaxEntries bounds the library's memory: usual stores have 150 entries.
	jksMaxEntries = 10_000
)

type entries map[string]keystore.TrustedCertificateEntry

// New returns a store of these roots and authorities that every JVM reads: JKS with the password of Java's own stores. The same
// certificates give the same bytes.
func New(roots, authorities []*x509.Certificate) ([]byte, error) {
	store := newJKS()
	all := ownEntries(authorities)
	for index, root := range roots {
		all[fmt.Sprintf("public-%d", index+1)] = entryOf(root)
	}
	return encodeJKS(store, all)
}

func replaceInJKS(content []byte, authorities []*x509.Certificate) ([]byte, error) {
	if !hasSoundLengths(content) {
		return nil, errJKS
	}
	store := newJKS()
	if err := store.Load(bytes.NewReader(content), jksPassword); err != nil {
		return nil, errJKS
	}
	before, err := takeOwn(store)
	if err != nil {
		return nil, err
	}
	wanted := ownEntries(authorities)
	if maps.EqualFunc(before, wanted, isSame) {
		return content, nil
	}
	return encodeJKS(store, wanted)
}

// newJKS returns a store that keeps aliases as they are and writes the same entries in the same order.
func newJKS() keystore.KeyStore {
	return keystore.New(keystore.WithOrderedAliases(), keystore.WithCaseExactAliases())
}

func encodeJKS(store keystore.KeyStore, added entries) ([]byte, error) {
	for alias, entry := range added {
		if err := store.SetTrustedCertificateEntry(alias, entry); err != nil {
			return nil, err
		}
	}
	var content bytes.Buffer
	if err := store.Store(&content, jksPassword); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// takeOwn removes the authorities from a store and returns them.
func takeOwn(store keystore.KeyStore) (entries, error) {
	own := entries{}
	for _, alias := range store.Aliases() {
		if !strings.HasPrefix(alias, aliasPrefix) {
			continue
		}
		entry, err := store.GetTrustedCertificateEntry(alias)
		if err != nil {
			return nil, err
		}
		own[alias] = entry
		store.DeleteEntry(alias)
	}
	return own, nil
}

func ownEntries(authorities []*x509.Certificate) entries {
	own := entries{}
	for index, authority := range authorities {
		own[ownAlias(index)] = entryOf(authority)
	}
	return own
}

// entryOf dates an entry by its certificate, so that the same certificate makes the same entry.
func entryOf(root *x509.Certificate) keystore.TrustedCertificateEntry {
	return keystore.TrustedCertificateEntry{
		CreationTime: root.NotBefore,
		Certificate:  keystore.Certificate{Type: "X.509", Content: root.Raw},
	}
}

func isSame(one, other keystore.TrustedCertificateEntry) bool {
	return one.CreationTime.Equal(other.CreationTime) && one.Certificate.Type == other.Certificate.Type &&
		bytes.Equal(one.Certificate.Content, other.Certificate.Content)
}

// hasSoundLengths reports whether a store consists of roots whose lengths fit into it. The library reserves as much memory as a
// length says before it reads: four bytes of an image could end the daemon.
func hasSoundLengths(content []byte) bool {
	rest := cryptobyte.String(content)
	var version, count uint32
	if !rest.Skip(len(jksMagic)) || !rest.ReadUint32(&version) || !rest.ReadUint32(&count) || count > jksMaxEntries {
		return false
	}
	for range count {
		if !skipRoot(&rest, version) {
			return false
		}
	}
	return len(rest) == sha1.Size
}

func skipRoot(rest *cryptobyte.String, version uint32) bool {
	var tag, length uint32
	var alias, kind cryptobyte.String
	return rest.ReadUint32(&tag) && tag == jksTagOfRoot && rest.ReadUint16LengthPrefixed(&alias) && rest.Skip(8) &&
		(version == 1 || rest.ReadUint16LengthPrefixed(&kind)) && rest.ReadUint32(&length) && length <= maxBytes && rest.Skip(int(length))
}
