package javastore

import (
	"bytes"
	"crypto/x509"
	encoding "encoding/asn1"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// withHostileMac is a store whose key would take minutes to derive.
func withHostileMac() []byte {
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(store *cryptobyte.Builder) {
		store.AddASN1Int64(pkcs12Version)
		addData(store, func(*cryptobyte.Builder) {})
		store.AddASN1(asn1.SEQUENCE, func(mac *cryptobyte.Builder) {
			mac.AddASN1(asn1.SEQUENCE, func(digest *cryptobyte.Builder) {
				digest.AddASN1(asn1.SEQUENCE, func(algorithm *cryptobyte.Builder) {
					algorithm.AddASN1ObjectIdentifier(encoding.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1})
				})
				digest.AddASN1OctetString(make([]byte, 32))
			})
			mac.AddASN1OctetString([]byte("salt"))
			mac.AddASN1Int64(math.MaxInt32)
		})
	})
	return b.BytesOrPanic()
}

// withHostileCipher is a store that is encrypted with such a key.
func withHostileCipher() []byte {
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(store *cryptobyte.Builder) {
		store.AddASN1Int64(pkcs12Version)
		addData(store, func(contents *cryptobyte.Builder) {
			contents.AddASN1(asn1.SEQUENCE, func(info *cryptobyte.Builder) {
				info.AddASN1ObjectIdentifier(encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 6})
				info.AddASN1(explicitTag, func(content *cryptobyte.Builder) {
					content.AddASN1(asn1.SEQUENCE, func(encrypted *cryptobyte.Builder) { encrypted.AddASN1Int64(math.MaxInt32) })
				})
			})
		})
	})
	return b.BytesOrPanic()
}

// jks returns the start of a store with these numbers of four bytes, and what a reader needs to find its end.
func jks(numbers ...uint32) []byte {
	store := bytes.Clone(jksMagic)
	for _, number := range numbers {
		store = binary.BigEndian.AppendUint32(store, number)
	}
	return append(store, make([]byte, 100)...)
}

func damage(store []byte, at int) []byte {
	damaged := bytes.Clone(store)
	damaged[at] ^= 1
	return damaged
}

func TestStoresThatTheDaemonCannotChangeAreErrors(t *testing.T) {
	roots := map[string]*x509.Certificate{"a": newRoot(t, "a")}
	ofJKS, ofPKCS12 := makeJKS(t, roots, "changeit"), makePKCS12(t, roots, "")
	for name, store := range map[string][]byte{
		"nothing":                          {},
		"text":                             []byte("hello"),
		"another format":                   {0xce, 0xce, 0xce, 0xce, 0, 0, 0, 2, 0, 0, 0, 0},
		"a large one":                      append(bytes.Clone(ofJKS), make([]byte, maxBytes)...),
		"JKS with another password":        makeJKS(t, roots, "secret"),
		"JKS that was changed":             damage(ofJKS, len(ofJKS)-30),
		"JKS that ends early":              ofJKS[:len(ofJKS)-1],
		"JKS with more behind it":          append(bytes.Clone(ofJKS), 0),
		"JKS with many entries":            jks(2, math.MaxUint32),
		"JKS of a later version":           damage(ofJKS, 7),
		"JKS with a root that is too long": jks(2, 1, 2, 0, 0, 0, 0, math.MaxUint32),
		"JKS with a long chain of a key":   jks(2, 1, 1, 0, 0, 0, 0, math.MaxUint32),
		"PKCS#12 with the usual password":  makePKCS12(t, roots, "changeit"),
		"PKCS#12 with another password":    makePKCS12(t, roots, "secret"),
		"PKCS#12 that ends early":          ofPKCS12[:len(ofPKCS12)-1],
		"PKCS#12 with more behind it":      append(bytes.Clone(ofPKCS12), 0),
		"PKCS#12 of a later version":       bytes.Replace(ofPKCS12, []byte{2, 1, pkcs12Version}, []byte{2, 1, 4}, 1),
		"PKCS#12 with a hostile MAC":       withHostileMac(),
		"PKCS#12 with a hostile cipher":    withHostileCipher(),
	} {
		changed, err := Replace(store, []*x509.Certificate{newRoot(t, "b")})
		if err == nil || changed != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReplaceFindsAgainWhatItAdded(f *testing.F) {
	roots, own := map[string]*x509.Certificate{"a": newRoot(f, "a"), aliasPrefix + "1": newRoot(f, "b")}, []*x509.Certificate{newRoot(f, "c")}
	for _, seed := range [][]byte{
		makeJKS(f, roots, "changeit"), makeJKS(f, nil, "changeit"), makePKCS12(f, roots, ""), makePKCS12(f, nil, ""),
		jks(2, 1, 2), withHostileMac(), withHostileCipher(),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, store []byte) {
		added, err := Replace(store, own)
		if err != nil {
			return
		}
		if again, err := Replace(added, own); err != nil || !bytes.Equal(again, added) {
			t.Errorf("a second call makes another store: %v", err)
		}
		removed, err := Replace(added, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Replace(removed, nil); err != nil || !bytes.Equal(again, removed) || bytes.Contains(again, own[0].Raw) {
			t.Errorf("the authority stays: %v", err)
		}
	})
}
