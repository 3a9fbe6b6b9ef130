package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandlot.dev/runtime/internal/javastore"
)

// javaStores are files in which JVMs keep their roots, below the root of the image. Those of Debian and Alpine, Red Hat and SUSE
// come first, to which their JVMs have links. Then come those of JVMs that an image has from elsewhere; 8 has a folder jre.
var javaStores = []string{
	"etc/ssl/certs/java/cacerts",
	"etc/pki/ca-trust/extracted/java/cacerts",
	"var/lib/ca-certificates/java-cacerts",
	"usr/lib/jvm/*/lib/security/cacerts",
	"usr/lib/jvm/*/jre/lib/security/cacerts",
	"usr/java/*/lib/security/cacerts",
	"usr/java/*/jre/lib/security/cacerts",
	"usr/local/*/lib/security/cacerts",
	"usr/local/*/jre/lib/security/cacerts",
	"opt/*/lib/security/cacerts",
	"opt/*/jre/lib/security/cacerts",
	"opt/java/*/lib/security/cacerts",
	"opt/java/*/jre/lib/security/cacerts",
}

const (
	// maxNames bounds what is read of a folder that has JVMs.
	maxNames = 100
	// maxJavaStores bounds the work before the command of the container starts.
	maxJavaStores = 16
)

// changeJavaStores adds the authorities to the stores of the JVMs that the image has.
func (s *Store) changeJavaStores(authorities string) {
	wanted := parse(keepCertificates([]byte(authorities)))
	change := func(store []byte) ([]byte, error) { return javastore.Replace(store, wanted) }
	for _, path := range s.findJavaStores() {
		report(path, s.changeStore(path, change))
	}
}

// findJavaStores returns the stores of the image, each by its own name. A link may lead to another store and nowhere else.
func (s *Store) findJavaStores() []string {
	var found []string
	for _, pattern := range javaStores {
		for _, candidate := range s.expand(pattern) {
			path, err := filepath.EvalSymlinks(candidate)
			if err == nil && len(found) < maxJavaStores && s.isJavaStore(path) && !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found
}

// expand returns the paths of a pattern, which need not exist.
func (s *Store) expand(pattern string) []string {
	folder, rest, isPattern := strings.Cut(pattern, "/*/")
	folder = filepath.Join(s.base, folder)
	if !isPattern {
		return []string{folder}
	}
	var paths []string
	for _, name := range listNames(folder) {
		paths = append(paths, filepath.Join(folder, name, rest))
	}
	return paths
}

func (s *Store) isJavaStore(path string) bool {
	inImage, err := filepath.Rel(s.base, path)
	return err == nil && slices.ContainsFunc(javaStores, func(pattern string) bool {
		matches, err := filepath.Match(pattern, inImage)
		return err == nil && matches
	})
}

// listNames returns some names of a folder, none if it cannot be read.
func listNames(path string) []string {
	// Opening a pipe would wait for its other end.
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	defer folder.Close()
	// The names that were read before an error are as good as others.
	names, _ := folder.Readdirnames(maxNames)
	slices.Sort(names)
	return names
}
