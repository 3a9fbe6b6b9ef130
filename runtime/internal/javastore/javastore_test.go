package javastore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
	"software.sslmate.com/src/go-pkcs12"
)

func newRoot(t testing.TB, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(1_700_000_000, 0), NotAfter: time.Unix(2_000_000_000, 0),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// format makes a store of an image, by the libraries alone, and reads one.
type format struct {
	make func(t testing.TB, roots map[string]*x509.Certificate, password string) []byte
	read func(t testing.TB, store []byte) []*x509.Certificate
	// usual is the password of Java's own stores.
	usual string
}

var formats = map[string]format{
	"JKS": {makeJKS, readJKS, "changeit"},
	"PKCS#12": {makePKCS12, func(t testing.TB, store []byte) []*x509.Certificate {
		return must(t)(pkcs12.DecodeTrustStore(store, ""))
	}, ""},
}

func must(t testing.TB) func([]*x509.Certificate, error) []*x509.Certificate {
	return func(roots []*x509.Certificate, err error) []*x509.Certificate {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return roots
	}
}

func makeJKS(t testing.TB, roots map[string]*x509.Certificate, password string) []byte {
	t.Helper()
	store := keystore.New(keystore.WithOrderedAliases())
	for alias, root := range roots {
		entry := keystore.TrustedCertificateEntry{CreationTime: time.Unix(1, 0), Certificate: keystore.Certificate{Type: "X.509", Content: root.Raw}}
		if err := store.SetTrustedCertificateEntry(alias, entry); err != nil {
			t.Fatal(err)
		}
	}
	var content bytes.Buffer
	if err := store.Store(&content, []byte(password)); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

func readJKS(t testing.TB, content []byte) (roots []*x509.Certificate) {
	t.Helper()
	store := keystore.New(keystore.WithOrderedAliases())
	if err := store.Load(bytes.NewReader(content), []byte("changeit")); err != nil {
		t.Fatal(err)
	}
	for _, alias := range store.Aliases() {
		entry, err := store.GetTrustedCertificateEntry(alias)
		if err != nil {
			t.Fatal(err)
		}
		root, err := x509.ParseCertificate(entry.Certificate.Content)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, root)
	}
	return roots
}

func makePKCS12(t testing.TB, roots map[string]*x509.Certificate, password string) []byte {
	t.Helper()
	var entries []pkcs12.TrustStoreEntry
	for _, alias := range slices.Sorted(maps.Keys(roots)) {
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: roots[alias], FriendlyName: alias})
	}
	encoder := pkcs12.Passwordless
	if password != "" {
		encoder = pkcs12.Modern2023
	}
	content, err := encoder.EncodeTrustStoreEntries(entries, password)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func namesOf(roots []*x509.Certificate) string {
	var names []string
	for _, root := range roots {
		names = append(names, root.Subject.CommonName)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func replace(t *testing.T, store []byte, authorities ...*x509.Certificate) []byte {
	t.Helper()
	changed, err := Replace(store, authorities)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestAuthoritiesComeGoAndLeaveTheOtherRootsAsTheyWere(t *testing.T) {
	one, two, public := newRoot(t, "one"), newRoot(t, "two"), newRoot(t, "public")
	for name, format := range formats {
		original := format.make(t, map[string]*x509.Certificate{"public [jdk]": public, "z": newRoot(t, "last")}, format.usual)
		store := original
		for _, row := range []struct {
			authorities []*x509.Certificate
			want        string
		}{
			{[]*x509.Certificate{one}, "last one public"},
			{[]*x509.Certificate{one, two}, "last one public two"},
			{[]*x509.Certificate{two}, "last public two"},
			{[]*x509.Certificate{two, two}, "last public two two"},
			{nil, "last public"},
		} {
			store = replace(t, store, row.authorities...)
			if got := namesOf(format.read(t, store)); got != row.want {
				t.Errorf("%s: got %q, want %q", name, got, row.want)
			}
			if again := replace(t, store, row.authorities...); &again[0] != &store[0] {
				t.Errorf("%s: the same again made another store", name)
			}
		}
		if !bytes.Equal(store, original) {
			t.Errorf("%s: the store is not as it was", name)
		}
	}
}

func TestAStoreWithoutRootsTakesAuthorities(t *testing.T) {
	var noParts cryptobyte.Builder
	noParts.AddASN1(asn1.SEQUENCE, func(store *cryptobyte.Builder) {
		store.AddASN1Int64(pkcs12Version)
		addData(store, func(*cryptobyte.Builder) {})
	})
	for name, row := range map[string]struct {
		format string
		store  []byte
	}{
		"JKS": {"JKS", makeJKS(t, nil, "changeit")}, "PKCS#12": {"PKCS#12", makePKCS12(t, nil, "")},
		"PKCS#12 without a part": {"PKCS#12", noParts.BytesOrPanic()},
	} {
		if got := namesOf(formats[row.format].read(t, replace(t, row.store, newRoot(t, "one")))); got != "one" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestANewStoreHasRootsAndAuthoritiesAndIsAlwaysTheSame(t *testing.T) {
	one, roots := newRoot(t, "one"), []*x509.Certificate{newRoot(t, "public"), newRoot(t, "other")}
	store, err := New(roots, []*x509.Certificate{one})
	if err != nil || namesOf(readJKS(t, store)) != "one other public" {
		t.Fatalf("got %q, %v", namesOf(readJKS(t, store)), err)
	}
	if again, _ := New(roots, []*x509.Certificate{one}); !bytes.Equal(again, store) {
		t.Error("the same certificates made another store")
	}
	if same := replace(t, store, one); &same[0] != &store[0] {
		t.Error("the authority is not found again")
	}
}
