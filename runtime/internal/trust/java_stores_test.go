package trust

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

const (
	debianJava = "etc/ssl/certs/java/cacerts"
	ofTemurin  = "opt/java/openjdk/lib/security/cacerts"
)

// jks makes a store as Debian has it.
func jks(t testing.TB, password string, roots ...*x509.Certificate) string {
	t.Helper()
	store := keystore.New(keystore.WithOrderedAliases())
	for index, root := range roots {
		entry := keystore.TrustedCertificateEntry{Certificate: keystore.Certificate{Type: "X.509", Content: root.Raw}}
		if err := store.SetTrustedCertificateEntry(fmt.Sprintf("debian:%d.pem", index), entry); err != nil {
			t.Fatal(err)
		}
	}
	var content bytes.Buffer
	if err := store.Store(&content, []byte(password)); err != nil {
		t.Fatal(err)
	}
	return content.String()
}

// pkcs12Of makes a store as JDK 18 and later come with.
func pkcs12Of(t testing.TB, roots ...*x509.Certificate) string {
	t.Helper()
	var entries []pkcs12.TrustStoreEntry
	for index, root := range roots {
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: root, FriendlyName: fmt.Sprintf("public %d [jdk]", index)})
	}
	content, err := pkcs12.Passwordless.EncodeTrustStoreEntries(entries, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// rootsOf returns the certificates of a store in PEM.
func rootsOf(t *testing.T, content string) string {
	t.Helper()
	var roots strings.Builder
	if !strings.HasPrefix(content, "\xfe\xed\xfe\xed") {
		certificates, err := pkcs12.DecodeTrustStore([]byte(content), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range certificates {
			roots.Write(encode(each.Raw))
		}
		return roots.String()
	}
	store := keystore.New()
	if err := store.Load(strings.NewReader(content), []byte("changeit")); err != nil {
		t.Fatal(err)
	}
	for _, alias := range store.Aliases() {
		entry, err := store.GetTrustedCertificateEntry(alias)
		if err != nil {
			t.Fatal(err)
		}
		roots.Write(encode(entry.Certificate.Content))
	}
	return roots.String()
}

// logged returns the lines that the daemon logs meanwhile.
func logged(t *testing.T, do func()) []string {
	t.Helper()
	var lines bytes.Buffer
	usual := slog.Default()
	defer slog.SetDefault(usual)
	slog.SetDefault(slog.New(slog.NewJSONHandler(&lines, nil)))
	do()
	return strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n")
}

// BenchmarkApply is what the command of a container waits for, in an image with the public roots as PEM and for JVMs.
func BenchmarkApply(b *testing.B) {
	authorities := []string{newAuthority(b).pem, newAuthority(b).pem}
	public := parse(builtInRoots())
	for _, row := range []struct {
		name         string
		ofJVMs, same bool
	}{{"without a JVM", false, false}, {"with two JVMs", true, false}, {"the same again", true, true}} {
		b.Run(row.name, func(b *testing.B) {
			w := newWorld(b)
			w.put(debian, encodeAll(builtInRoots()))
			if row.ofJVMs {
				w.put(debianJava, jks(b, "changeit", public...))
				w.put(ofTemurin, pkcs12Of(b, public...))
			}
			w.apply(authorities[0])
			b.ReportMetric(float64(len(public)), "roots")
			for turn := 0; b.Loop(); turn++ {
				if row.same {
					turn = 0
				}
				w.apply(authorities[turn%2])
			}
		})
	}
}
