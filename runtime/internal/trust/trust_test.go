package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// authority signs certificates of hosts.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key, string(encode(der))}
}

// isTrustedBy reports whether a program with these roots takes a certificate of this authority for a host.
func (a authority) isTrustedBy(t *testing.T, roots string) bool {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"example.com"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(roots))
	_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "example.com"})
	return err == nil
}

// world is an image with the folder of a daemon.
type world struct {
	*Store
	t testing.TB
}

func newWorld(t testing.TB) world {
	t.Helper()
	w := world{&Store{base: t.TempDir(), changesImage: true}, t}
	if err := os.Chmod(w.base, 0o755); err != nil {
		t.Fatal(err)
	}
	w.folder = filepath.Join(w.base, ".sandlot")
	w.mkdir(".sandlot", 0o777|os.ModeSticky)
	return w
}

func (w world) mkdir(name string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.base, name)
	for each := filepath.Dir(path); len(each) > len(w.base); each = filepath.Dir(each) {
		_ = os.MkdirAll(each, 0o755)
		_ = os.Chmod(each, 0o755)
	}
	_ = os.Mkdir(path, 0o755)
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) chmod(name string, mode os.FileMode) {
	w.t.Helper()
	if err := os.Chmod(filepath.Join(w.base, name), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) put(name, content string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(name), 0o755)
	if err := os.WriteFile(filepath.Join(w.base, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) link(name, target string) {
	w.t.Helper()
	if err := os.Symlink(target, filepath.Join(w.base, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) read(name string) string {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.base, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

func (w world) apply(authorities string) {
	w.t.Helper()
	if err := w.Apply(authorities); err != nil {
		w.t.Fatal(err)
	}
}

const debian = "etc/ssl/certs/ca-certificates.crt"

func TestABundleHasTheRootsOfTheImageAndTheAuthority(t *testing.T) {
	own, public, stranger := newAuthority(t), newAuthority(t), newAuthority(t)
	for _, store := range imageStores {
		w := newWorld(t)
		w.put(store, "# comment\n"+public.pem)
		w.apply(own.pem)
		bundle := w.read(".sandlot/ca/bundle.pem")
		if !own.isTrustedBy(t, bundle) || !public.isTrustedBy(t, bundle) || stranger.isTrustedBy(t, bundle) {
			t.Errorf("%s: the bundle trusts others than it should", store)
		}
		if w.read(".sandlot/ca/ca.pem") != own.pem {
			t.Errorf("%s: the authority stands alone in ca.pem", store)
		}
	}
}

func TestAnImageWithoutRootsGetsThoseOfMozilla(t *testing.T) {
	own := newAuthority(t)
	for _, content := range []string{"", "no certificate", "-----BEGIN CERTIFICATE-----\n"} {
		w := newWorld(t)
		if content != "" {
			w.put(debian, content)
		}
		w.apply(own.pem)
		bundle := w.read(".sandlot/ca/bundle.pem")
		if !own.isTrustedBy(t, bundle) || strings.Count(bundle, "BEGIN CERTIFICATE") < 100 {
			t.Errorf("%q: the bundle lacks public roots", content)
		}
	}
}

func TestEveryUserMayReadTheFilesAndOnlyTheDaemonWritesThem(t *testing.T) {
	w := newWorld(t)
	w.apply(newAuthority(t).pem)
	for name, want := range map[string]string{"": "drwxr-xr-x", "ca.pem": "-r--r--r--", "bundle.pem": "-r--r--r--", "cacerts": "-r--r--r--"} {
		info, err := os.Lstat(w.path(name))
		if err != nil || info.Mode().String() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	entries, _ := os.ReadDir(w.path(""))
	if len(entries) != 3 {
		t.Errorf("the folder has %d files", len(entries))
	}
}

func TestVariablesNameTheFilesWhileThereIsAnAuthority(t *testing.T) {
	w := newWorld(t)
	w.apply("")
	if w.Variables() != nil || w.hasFiles() {
		t.Error("there are files without an authority")
	}
	w.apply(newAuthority(t).pem)
	got := w.Variables()
	if len(got) != 10 || got["SSL_CERT_FILE"] != w.path("bundle.pem") || got["NODE_EXTRA_CA_CERTS"] != w.path("ca.pem") {
		t.Errorf("got %v", got)
	}
	w.apply("")
	if w.Variables() != nil {
		t.Error("the variables outlive the authority")
	}
}

func TestADaemonWithoutAFolderSaysSo(t *testing.T) {
	s := &Store{base: t.TempDir()}
	if err := s.Apply(newAuthority(t).pem); err == nil || s.Variables() != nil {
		t.Errorf("got %v", err)
	}
	if err := s.Apply(""); err != nil {
		t.Error(err)
	}
}

func TestAnAuthorityThatGoesIsNotTrustedAnyMore(t *testing.T) {
	first, second, public := newAuthority(t), newAuthority(t), newAuthority(t)
	w := newWorld(t)
	w.put(debian, public.pem)
	files := func() []string { return []string{w.read(".sandlot/ca/bundle.pem"), w.read(debian)} }
	for _, row := range []struct {
		authorities string
		want        [2]bool
	}{
		{first.pem, [2]bool{true, false}}, {first.pem + second.pem, [2]bool{true, true}}, {second.pem, [2]bool{false, true}}, {"", [2]bool{}},
	} {
		w.apply(row.authorities)
		for _, file := range files() {
			if got := [2]bool{first.isTrustedBy(t, file), second.isTrustedBy(t, file)}; got != row.want || !public.isTrustedBy(t, file) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		}
	}
	if w.read(debian) != public.pem {
		t.Error("the store of the image is not as it was")
	}
}

func TestProgramsFindPublicRootsWhereARestoreTookTheFolderAndTheAuthorityAway(t *testing.T) {
	own, public := newAuthority(t), newAuthority(t)
	w := newWorld(t)
	w.put(debian, public.pem)
	w.apply(own.pem)
	if err := os.RemoveAll(w.path("")); err != nil {
		t.Fatal(err)
	}
	w.apply("")
	if w.read(".sandlot/ca/bundle.pem") != public.pem || w.read(debian) != public.pem {
		t.Error("programs from before have no roots, or too many")
	}
}

func TestCertificatesTakesNothingElse(t *testing.T) {
	one, other := newAuthority(t), newAuthority(t)
	key, _ := x509.MarshalPKCS8PrivateKey(one.key)
	secret := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blanks", " \n", ""},
		{"two", one.pem + other.pem, one.pem + other.pem},
		{"comments before them", "# one\n" + one.pem + "# other\n" + other.pem + "\n", one.pem + other.pem},
	} {
		if got, err := Certificates(row.text); got != row.want || err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	for name, text := range map[string]string{
		"text": "hello", "text behind them": one.pem + "hello", "a key": secret, "a key behind them": one.pem + secret,
		"a block of another kind": strings.ReplaceAll(one.pem, "CERTIFICATE", "TRUSTED CERTIFICATE"),
		"bytes of another kind":   string(encode([]byte("hello"))),
		"too many":                strings.Repeat(one.pem, MaxBytes/len(one.pem)+1),
	} {
		got, err := Certificates(text)
		if err == nil || got != "" || strings.Contains(err.Error(), "hello") || strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCertificatesReturnsWhatItTakesAgain(f *testing.F) {
	for _, seed := range []string{"", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", "-----BEGIN KEY-----"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Certificates(text)
		if err != nil || len(got) > MaxBytes {
			return
		}
		if again, err := Certificates(got); again != got || err != nil {
			t.Errorf("%q became %q: %v", got, again, err)
		}
	})
}

func TestTheSameAgainWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.put(debian, newAuthority(t).pem)
	w.mkdir("usr/local/share/ca-certificates", 0o755)
	own := newAuthority(t).pem
	w.apply(own)
	names := []string{".sandlot/ca/ca.pem", ".sandlot/ca/bundle.pem", ".sandlot/ca/cacerts", debian, "usr/local/share/ca-certificates/sandlot-egress.crt"}
	stat := func() (found []os.FileInfo) {
		for _, name := range names {
			info, err := os.Lstat(filepath.Join(w.base, name))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, info)
		}
		return found
	}
	before := stat()
	w.apply(own)
	if !slices.EqualFunc(before, stat(), os.SameFile) {
		t.Error("a file was replaced")
	}
}
