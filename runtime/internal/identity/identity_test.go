package identity

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve answers on one port with "TLS" or "plain" and returns its address.
func serve(t *testing.T, dir string, silence time.Duration) string {
	t.Helper()
	config, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			fmt.Fprint(w, "TLS "+r.Proto)
			return
		}
		fmt.Fprint(w, "plain "+r.Proto)
	})}
	go func() { _ = server.Serve(Both(plain, config, silence)) }()
	t.Cleanup(func() { _ = server.Close() })
	return plain.Addr().String()
}

// ask sends one request over TLS, or plainly, and returns the answer and the hash of the server's key.
func ask(t *testing.T, address string, secure bool) (body, hash string) {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	response, err := (&http.Client{Transport: transport}).Get(scheme + address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.TLS != nil {
		sum := sha256.Sum256(response.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo)
		hash = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return string(content), hash
}

func create(t *testing.T, dir string) string {
	t.Helper()
	public, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	message, err := Message(public, 49983, 8888)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

func TestOnePortServesTLSWithTheKeyOfTheSandboxAndPlainHTTP(t *testing.T) {
	dir := t.TempDir()
	message := create(t, dir)
	for range 2 {
		address := serve(t, dir, time.Minute)
		body, hash := ask(t, address, true)
		if want := "sandlot-identity:v1:" + hash + ":49983,8888"; body != "TLS HTTP/1.1" || message != want {
			t.Errorf("got %s by the key of %s, but published %s", body, want, message)
		}
		if body, _ := ask(t, address, false); body != "plain HTTP/1.1" {
			t.Errorf("without TLS: %s", body)
		}
	}
	if again := create(t, dir); again == message {
		t.Errorf("another Pod has the same key: %s", again)
	}
}

func TestOnlyTheLatestTLSIsServed(t *testing.T) {
	dir := t.TempDir()
	create(t, dir)
	_, err := tls.Dial("tcp", serve(t, dir, time.Minute), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.2: %v", err)
	}
}

func TestASilentConnectionIsClosedAndDelaysNoOther(t *testing.T) {
	dir := t.TempDir()
	create(t, dir)
	address := serve(t, dir, time.Millisecond)
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if heard, err := io.ReadAll(silent); len(heard) > 0 || err != nil {
		t.Errorf("got %q, %v", heard, err)
	}
	patient := serve(t, dir, time.Hour)
	late, err := net.Dial("tcp", patient)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if body, _ := ask(t, patient, true); body != "TLS HTTP/1.1" {
		t.Errorf("beside a silent connection: %s", body)
	}
	_, _ = io.WriteString(late, "GET / HTTP/1.0\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(late), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("a connection that speaks late: %v %v", response, err)
	}
}

func TestACloserEndsTheListener(t *testing.T) {
	dir := t.TempDir()
	create(t, dir)
	config, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	both := Both(plain, config, time.Minute)
	ended := make(chan error)
	go func() {
		_, err := both.Accept()
		ended <- err
	}()
	_ = both.Close()
	if err := <-ended; err != net.ErrClosed {
		t.Errorf("got %v", err)
	}
}

func TestWithoutAKeyThereIsNoTLSAndABrokenKeyIsAnError(t *testing.T) {
	dir := t.TempDir()
	if config, err := Load(dir); config != nil || err != nil {
		t.Errorf("got %v, %v", config, err)
	}
	for _, content := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\neA==\n-----END PRIVATE KEY-----\n"} {
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "identity.key") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// mount stores a new key as a Secret volume does, and returns its path and what the Pod announces.
func mount(t *testing.T) (path, announced string) {
	t.Helper()
	dir := t.TempDir()
	return filepath.Join(dir, fileName), create(t, dir)
}

func TestAMountedKeyServesTLSIfThePodAnnouncesIt(t *testing.T) {
	path, announced := mount(t)
	config, err := LoadMounted(path, announced)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	if want := "sandlot-identity:v1:" + base64.RawURLEncoding.EncodeToString(sum[:]) + ":49983,8888"; want != announced {
		t.Errorf("got %s, but the Pod announces %s", want, announced)
	}
}

func TestAMountedKeyMustBeTheOneThatThePodAnnounces(t *testing.T) {
	path, announced := mount(t)
	_, another := mount(t)
	for _, wrong := range []string{"", another, strings.TrimSuffix(announced, ":49983,8888")[:40], "sandlot-identity:v1:"} {
		_, err := LoadMounted(path, wrong)
		if err == nil || !strings.Contains(err.Error(), "is not the one that SANDLOT_IDENTITY announces; delete the Secret") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestAMountedKeyThatCannotBeReadIsAnErrorThatRepeatsNoneOfIt(t *testing.T) {
	path, announced := mount(t)
	if _, err := LoadMounted(path+".gone", announced); err == nil || !strings.Contains(err.Error(), "delete the Secret") {
		t.Errorf("without the file: %v", err)
	}
	for _, content := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\neA==\n-----END PRIVATE KEY-----\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadMounted(path, announced)
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "eA==") {
			t.Errorf("%q: %v", content, err)
		}
	}
}
