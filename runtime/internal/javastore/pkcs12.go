package javastore

import (
	"bytes"
	"crypto/x509"
	encoding "encoding/asn1"
	"encoding/binary"
	"unicode/utf16"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
	"software.sslmate.com/src/go-pkcs12"
)

const bmpString = asn1.Tag(30)

var (
	oidFriendlyName = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 20}
	bmpAliasPrefix  = encodeBMP(aliasPrefix)
)

// replaceInPKCS12 changes the bags alone: the library would drop the aliases of the others, by which a JVM recognises the roots
// that came with it. It takes no store with a password. The roots of such a store are encrypted as a rule, so a JVM without the
// password finds none, and a key of the image could take minutes to derive.
func replaceInPKCS12(content []byte, authorities []*x509.Certificate) ([]byte, error) {
	parts, ok := readPKCS12(content)
	if !ok {
		return nil, errPKCS12
	}
	wanted, err := ownBags(authorities)
	if err != nil {
		return nil, err
	}
	var before bags
	for index, part := range parts {
		rest, own, ok := splitOwn(part)
		if !ok {
			return nil, errPKCS12
		}
		parts[index], before = rest, append(before, own...)
	}
	if bytes.Equal(before, wanted) {
		return content, nil
	}
	if len(parts) == 0 {
		parts = []bags{nil}
	}
	last := len(parts) - 1
	parts[last] = append(parts[last], wanted...)
	return writePKCS12(parts)
}

// ownBags returns the entries of the authorities, as the library encodes them.
func ownBags(authorities []*x509.Certificate) (bags, error) {
	var entries []pkcs12.TrustStoreEntry
	for index, authority := range authorities {
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: authority, FriendlyName: ownAlias(index)})
	}
	content, err := pkcs12.Passwordless.EncodeTrustStoreEntries(entries, "")
	if err != nil {
		return nil, err
	}
	parts, ok := readPKCS12(content)
	if !ok || len(parts) != 1 {
		return nil, errPKCS12
	}
	return parts[0], nil
}

// splitOwn divides a part into the entries of others and those of earlier calls.
func splitOwn(part bags) (others, own bags, ok bool) {
	rest := cryptobyte.String(part)
	for !rest.Empty() {
		var bag cryptobyte.String
		if !rest.ReadASN1Element(&bag, asn1.SEQUENCE) {
			return nil, nil, false
		}
		isOwn, ok := isOwnBag(bag)
		switch {
		case !ok:
			return nil, nil, false
		case isOwn:
			own = append(own, bag...)
		default:
			others = append(others, bag...)
		}
	}
	return others, own, true
}

func isOwnBag(bag cryptobyte.String) (isOwn, ok bool) {
	var fields, attributes cryptobyte.String
	if !bag.ReadASN1(&fields, asn1.SEQUENCE) || !fields.SkipASN1(asn1.OBJECT_IDENTIFIER) || !fields.SkipASN1(explicitTag) {
		return false, false
	}
	if fields.Empty() {
		return false, true
	}
	if !fields.ReadASN1(&attributes, asn1.SET) || !fields.Empty() {
		return false, false
	}
	return hasOwnName(attributes)
}

func hasOwnName(attributes cryptobyte.String) (isOwn, ok bool) {
	for !attributes.Empty() {
		var attribute, values, name cryptobyte.String
		var kind encoding.ObjectIdentifier
		if !attributes.ReadASN1(&attribute, asn1.SEQUENCE) || !attribute.ReadASN1ObjectIdentifier(&kind) || !attribute.ReadASN1(&values, asn1.SET) {
			return false, false
		}
		if kind.Equal(oidFriendlyName) && values.ReadASN1(&name, bmpString) && bytes.HasPrefix(name, bmpAliasPrefix) {
			isOwn = true
		}
	}
	return isOwn, true
}

func encodeBMP(text string) []byte {
	var encoded []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		encoded = binary.BigEndian.AppendUint16(encoded, unit)
	}
	return encoded
}
