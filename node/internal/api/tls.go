package api

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// controllerName is the DNS name in the certificate of the only client.
const controllerName = "snapshot-controller"

// The files of a TLS folder.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authorityFile   = "ca.crt"
)

// Identity is the certificate of the agent and the authority of its client, read anew when their files change.
type Identity struct {
	folder string

	mutex sync.Mutex
	files []os.FileInfo
	known *tls.Config
}

// OpenIdentity reads tls.crt, tls.key and ca.crt.
func OpenIdentity(folder string) (*Identity, error) {
	i := &Identity{folder: folder}
	_, err := i.read()
	return i, err
}

// Config lets in the controller alone.
func (i *Identity) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return i.latest(), nil
		},
	}
}

// latest returns the configuration of the files as they are. While they cannot be used, as in the middle of a rotation, the
// earlier one stands.
func (i *Identity) latest() *tls.Config {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	config, err := i.read()
	if err != nil {
		slog.Error("the TLS files changed and cannot be used, so the earlier ones stay", "folder", i.folder, "error", err.Error())
		return i.known
	}
	return config
}

func (i *Identity) read() (*tls.Config, error) {
	files, err := i.stat()
	if err != nil {
		return nil, err
	}
	if slices.EqualFunc(files, i.files, isUnchanged) {
		return i.known, nil
	}
	config, err := i.build()
	if err != nil {
		return nil, err
	}
	i.files, i.known = files, config
	return config, nil
}

func (i *Identity) stat() ([]os.FileInfo, error) {
	var files []os.FileInfo
	for _, name := range []string{certificateFile, keyFile, authorityFile} {
		info, err := os.Stat(filepath.Join(i.folder, name))
		if err != nil {
			return nil, err
		}
		files = append(files, info)
	}
	return files, nil
}

func isUnchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

func (i *Identity) build() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(filepath.Join(i.folder, certificateFile), filepath.Join(i.folder, keyFile))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(i.folder, authorityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authority,
		NextProtos:   []string{"http/1.1"},
		// A resumed session would skip the authority of today.
		SessionTicketsDisabled: true,
		VerifyConnection:       checkController,
	}, nil
}

func checkController(state tls.ConnectionState) error {
	if len(state.VerifiedChains) == 0 {
		return errors.New("the client has no verified certificate")
	}
	if client := state.PeerCertificates[0]; !slices.Contains(client.DNSNames, controllerName) {
		return fmt.Errorf("the certificate of the client is that of %q and not that of %s", client.DNSNames, controllerName)
	}
	return nil
}
