// Package trust makes programs in the sandbox trust authorities beside the public ones: that of the egress proxy, and those
// that /init names (docs/reference/runtime.md#trust).
package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"sandlot.dev/runtime/internal/javastore"
)

const (
	folderName = "ca"
	// authoritiesName is the file of the authorities alone, for variables that add to the roots of a program.
	authoritiesName = "ca.pem"
	// bundleName is the file of the public roots and the authorities, for variables that replace the roots of a program.
	bundleName = "bundle.pem"
	// javaName is the same for JVMs.
	javaName = "cacerts"
)

// Store has the files by which programs trust authorities. Several processes may use the same files, and each use is safe for
// concurrent use.
type Store struct {
	// folder is the daemon's; empty: it has none.
	folder string
	// base is the root of the image, other than / in tests only.
	base string
	// changesImage means that this process may change the stores of the image.
	changesImage bool

	mu sync.Mutex
	// used means that this process has written the files. A restore may take the folder away, while programs go on with the
	// variables that name its files.
	used bool
}

// Open returns the store below the folder of the daemon.
func Open(folder string) *Store {
	return &Store{folder: folder, base: "/", changesImage: os.Geteuid() == 0}
}

var errNoFolder = errors.New("the daemon has no folder: set SANDLOT_RUNTIME_DIR")

// Apply makes programs trust these authorities, in the form that Certificates returns, in place of those of an earlier call.
// The same again writes nothing. The stores of the image change only if this process is root and no other user could have
// put something in their place.
func (s *Store) Apply(authorities string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if authorities == "" && !s.used && !s.hasFiles() {
		return nil
	}
	if s.folder == "" {
		return errNoFolder
	}
	if err := s.write(authorities); err != nil {
		return fmt.Errorf("storing the authorities that programs trust: %w", err)
	}
	s.used = true
	if s.changesImage && !s.leavesImage() {
		s.changeImage(authorities)
	}
	return nil
}

func (s *Store) hasFiles() bool {
	if s.folder == "" {
		return false
	}
	_, err := os.Lstat(s.path(""))
	return err == nil
}

func (s *Store) path(name string) string { return filepath.Join(s.folder, folderName, name) }

// write leaves the file of the authorities for the end: Variables takes it for a sign that the others are there.
func (s *Store) write(authorities string) error {
	folder, err := openOwnFolder(s.path(""))
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := writeRoots(folder, s.publicRoots(), authorities); err != nil {
		return err
	}
	if authorities == "" {
		return removeIfThere(folder, authoritiesName)
	}
	return replace(folder, file{name: authoritiesName, content: authorities, mode: 0o444})
}

// writeRoots writes the store for JVMs before the bundle, so that a bundle that is as it should be stands for both: the store takes
// milliseconds to make.
func writeRoots(folder *os.Root, roots [][]byte, authorities string) error {
	bundle := file{name: bundleName, content: encodeAll(roots) + authorities, mode: 0o444}
	if isThere(folder, bundle) && hasOwn(folder, javaName) {
		return nil
	}
	store, err := javastore.New(parse(roots), parse(keepCertificates([]byte(authorities))))
	if err != nil {
		return err
	}
	if err := replace(folder, file{name: javaName, content: string(store), mode: 0o444}); err != nil {
		return err
	}
	return replace(folder, bundle)
}

// bundleVariables name the roots of a program, in place of its own ones.
var bundleVariables = []string{
	"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO",
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
}

// addingVariables name further roots.
var addingVariables = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"}

// Variables returns the environment by which programs find the files; nil while there are no authorities.
func (s *Store) Variables() map[string]string {
	if s.folder == "" {
		return nil
	}
	info, err := os.Lstat(s.path(authoritiesName))
	if err != nil || !info.Mode().IsRegular() || !isOwn(info) {
		return nil
	}
	variables := map[string]string{}
	for _, name := range bundleVariables {
		variables[name] = s.path(bundleName)
	}
	for _, name := range addingVariables {
		variables[name] = s.path(authoritiesName)
	}
	return variables
}

// isOwn reports whether the user of this process owns a file, and no other user may write to it.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
