package javastore

import (
	encoding "encoding/asn1"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

const pkcs12Version = 3

var (
	// pkcs12Start is the tag of a sequence.
	pkcs12Start = []byte{byte(asn1.SEQUENCE)}
	explicitTag = asn1.Tag(0).ContextSpecific().Constructed()
	oidData     = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
)

// bags are the entries of one part of a store, as they stand there.
type bags []byte

// readPKCS12 returns the parts of a store; false if it is damaged, has a password, or a part of another kind.
func readPKCS12(content []byte) ([]bags, bool) {
	contents, ok := readContents(content)
	if !ok {
		return nil, false
	}
	var parts []bags
	for !contents.Empty() {
		var data, part cryptobyte.String
		if !readData(&contents, &data) || !data.ReadASN1(&part, asn1.SEQUENCE) || !data.Empty() {
			return nil, false
		}
		parts = append(parts, bags(part))
	}
	return parts, true
}

// readContents refuses what stands behind the contents: the MAC by which a store has a password.
func readContents(content []byte) (contents cryptobyte.String, ok bool) {
	input := cryptobyte.String(content)
	var store, safe cryptobyte.String
	var version int
	if !input.ReadASN1(&store, asn1.SEQUENCE) || !input.Empty() || !store.ReadASN1Integer(&version) || version != pkcs12Version {
		return nil, false
	}
	ok = readData(&store, &safe) && store.Empty() && safe.ReadASN1(&contents, asn1.SEQUENCE) && safe.Empty()
	return contents, ok
}

func readData(from, data *cryptobyte.String) bool {
	var info, content cryptobyte.String
	var kind encoding.ObjectIdentifier
	return from.ReadASN1(&info, asn1.SEQUENCE) && info.ReadASN1ObjectIdentifier(&kind) && kind.Equal(oidData) &&
		info.ReadASN1(&content, explicitTag) && info.Empty() && content.ReadASN1(data, asn1.OCTET_STRING) && content.Empty()
}

func writePKCS12(parts []bags) ([]byte, error) {
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(store *cryptobyte.Builder) {
		store.AddASN1Int64(pkcs12Version)
		addData(store, func(contents *cryptobyte.Builder) {
			for _, part := range parts {
				addData(contents, func(data *cryptobyte.Builder) { data.AddBytes(part) })
			}
		})
	})
	return b.Bytes()
}

// addData adds a sequence as data.
func addData(to *cryptobyte.Builder, fill cryptobyte.BuilderContinuation) {
	to.AddASN1(asn1.SEQUENCE, func(info *cryptobyte.Builder) {
		info.AddASN1ObjectIdentifier(oidData)
		info.AddASN1(explicitTag, func(content *cryptobyte.Builder) {
			content.AddASN1(asn1.OCTET_STRING, func(data *cryptobyte.Builder) { data.AddASN1(asn1.SEQUENCE, fill) })
		})
	})
}
