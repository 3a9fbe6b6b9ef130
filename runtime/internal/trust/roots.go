package trust

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/crypto/x509roots/fallback/bundle"
	"golang.org/x/sys/unix"
)

// imageStores are files in which images keep the public roots, below the root of the image. Those of Debian and Alpine come
// first, then those of Red Hat, SUSE and Arch, with the files that links of these lead to.
var imageStores = []string{
	"etc/ssl/certs/ca-certificates.crt",
	"etc/pki/tls/certs/ca-bundle.crt",
	"etc/ssl/cert.pem",
	"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"etc/ssl/ca-bundle.pem",
	"var/lib/ca-certificates/ca-bundle.pem",
	"etc/ca-certificates/extracted/tls-ca-bundle.pem",
}

// maxStoreBytes bounds what is read of a store: usual ones have a quarter of a MiB.
const maxStoreBytes = 4 << 20

// publicRoots returns the roots of the image. For an image without any it returns those that Mozilla trusted when the daemon
// was built: with the authorities alone, a variable that replaces the roots of a program would close all other hosts to it.
func (s *Store) publicRoots() [][]byte {
	for _, store := range imageStores {
		content, err := readStore(filepath.Join(s.base, store))
		if err != nil {
			continue
		}
		if roots := keepCertificates([]byte(withoutBlock(string(content)))); len(roots) > 0 {
			return roots
		}
	}
	return builtInRoots()
}

func builtInRoots() (roots [][]byte) {
	for root := range bundle.Roots() {
		roots = append(roots, root.Certificate)
	}
	return roots
}

var errNoStore = errors.New("not a file, or too large")

func readStore(path string) ([]byte, error) {
	// Opening a pipe would wait for its other end.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxStoreBytes {
		return nil, errNoStore
	}
	return io.ReadAll(io.LimitReader(file, maxStoreBytes))
}
