package api_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandlot.dev/node/internal/api"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

const (
	podUID      = "0f8fad5b-d9cb-469f-a165-70867728950e"
	snapshotUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	otherUID    = "11111111-7425-40de-944b-e07fc1f90ae7"
	patience    = 30 * time.Second
)

// fakeRunsc stands for gVisor where the tests are about the API: it has one Pod, and its files appear at once.
const fakeRunsc = `#!/bin/sh
state="$0.state"
for last; do :; done
for verb; do case "$verb" in --version|cpu-features|list|usage|pause|resume|checkpoint) break ;; esac; done
case $verb in
--version) printf 'runsc version 1\nspec: 1.2.0\n' ;;
cpu-features) echo sse,avx ;;
list) printf '[{"id":"pause-1","status":"%s","annotations":{"io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri.sandbox-namespace":"team","io.kubernetes.cri.sandbox-name":"analyst-1","io.kubernetes.cri.sandbox-uid":"0f8fad5b-d9cb-469f-a165-70867728950e"}}]' "$(cat $state 2>/dev/null || echo running)" ;;
usage) cat "$0.usage" 2>/dev/null || echo '{"Total": 4096}' ;;
pause) echo paused > $state ;;
resume) echo running > $state ;;
checkpoint)
	if [ -e "$0.gate" ]; then read line < "$0.gate"; fi
	for arg; do if [ "$before" = --image-path ]; then folder=$arg; fi; before=$arg; done
	if [ -e "$0.broken" ]; then echo "no memory" >&2; exit 1; fi
	mkdir -p $folder && echo memory > $folder/pages.img ;;
esac
`

// node is a node with an agent whose APIs are served.
type node struct {
	t      *testing.T
	folder string
	// runsc is the path of the fake.
	runsc string
	agent *api.Agent
	tls   string
	url   string
	// shim is a client of the unix socket.
	shim *http.Client
	ca   *authority
}

func newNode(t *testing.T) *node {
	t.Helper()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	n := &node{t: t, folder: t.TempDir(), ca: newAuthority(t)}
	n.runsc = filepath.Join(n.folder, "runsc")
	n.write("runsc", fakeRunsc, 0o755)
	n.startAgent()
	n.serve()
	return n
}

func (n *node) write(name, text string, mode os.FileMode) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.folder, name), []byte(text), mode); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) startAgent() {
	n.t.Helper()
	limits := runsc.Limits{Brief: patience, Checkpoint: patience, Restore: patience}
	r := runsc.Runsc{Binary: n.runsc, Root: filepath.Join(n.folder, "root"), Limits: limits}
	machine := runsc.NewMachine(r).Describe
	s, err := store.Open(filepath.Join(n.folder, "store"), store.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	saver, err := save.New(n.t.Context(), save.Options{
		Runsc: r, Store: s, Machine: machine, IntentFolder: filepath.Join(n.folder, "intents"), MostSaves: 1, ResumeLimit: patience, Now: time.Now,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	ledger, err := grants.Open(grants.Options{
		Folder: filepath.Join(n.folder, "grants"), Store: s, Machine: machine, BeginLimit: 200 * time.Millisecond, KeepFor: time.Hour, Now: time.Now,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.agent = &api.Agent{Node: "node-1", Store: s, Saver: saver, Grants: ledger, Machine: machine}
	n.t.Cleanup(func() {
		saver.Wait()
		ledger.Close()
		s.Close()
	})
}

func (n *node) serve() {
	n.t.Helper()
	n.tls = filepath.Join(n.folder, "tls")
	n.ca.write(n.t, n.tls, n.ca.issue(n.t, "sandlot-node"))
	identity, err := api.OpenIdentity(n.tls)
	if err != nil {
		n.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	n.url = "https://" + listener.Addr().String()
	n.run(n.agent.Controller(), tls.NewListener(listener, identity.Config()))

	socket := filepath.Join(n.folder, "node.sock")
	unix, err := api.ListenUnix(socket)
	if err != nil {
		n.t.Fatal(err)
	}
	n.run(n.agent.Shim(), unix)
	n.shim = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

func (n *node) run(handler http.Handler, listener net.Listener) {
	server := api.NewServer(n.t.Context(), handler)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	n.t.Cleanup(func() { server.Close(); <-done })
}

// controller is a client with the certificate of the controller.
func (n *node) controller() *http.Client {
	return n.ca.client(n.ca.issue(n.t, "snapshot-controller"))
}

type answer struct {
	status int
	body   map[string]any
}

// text is a field of the answer.
func (a answer) text(field string) string { return fmt.Sprint(a.body[field]) }

func (n *node) ask(client *http.Client, line, body string) answer {
	n.t.Helper()
	method, url, _ := strings.Cut(line, " ")
	if strings.HasPrefix(url, "/") {
		url = n.url + url
	}
	request, err := http.NewRequestWithContext(n.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	a := answer{status: response.StatusCode}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			n.t.Fatalf("%s: %v: %s", line, err, text)
		}
	}
	return a
}

// expect asks and compares the status and the code of an error.
func (n *node) expect(client *http.Client, line, body string, want answer) answer {
	n.t.Helper()
	got := n.ask(client, line, body)
	if got.status != want.status || (want.body != nil && got.text("code") != want.text("code")) {
		n.t.Errorf("%s: got %d %v; want %d %v", line, got.status, got.body, want.status, want.body)
	}
	return got
}

func code(status int, code string) answer {
	return answer{status, map[string]any{"code": code}}
}

func ok(status int) answer { return answer{status: status} }

// authority issues certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return &authority{key, sign(t, template, &authority{key, template}, key)}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template *x509.Certificate, by *authority, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// issue makes a certificate for a client and a server.
func (a *authority) issue(t *testing.T, name string, changes ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "snapshot-controller"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, change := range changes {
		change(template)
	}
	return tls.Certificate{Certificate: [][]byte{sign(t, template, a, key).Raw}, PrivateKey: key}
}

// write puts the files of a TLS folder there.
func (a *authority) write(t *testing.T, folder string, own tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: own.Certificate[0]},
		"tls.key": {Type: "PRIVATE KEY", Bytes: key},
		"ca.crt":  {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// client makes a client that shows these certificates.
func (a *authority) client(own ...tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "sandlot-node", Certificates: own, MinVersion: tls.VersionTLS12,
	}}}
}
