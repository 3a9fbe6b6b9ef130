package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	operator = "operator"
	password = "operators-password"
	// hashed is the password as bcrypt has it, by the least cost.
	hashed = "$2a$04$e9GSqzT6kIrGOn81yspJ7uquvpG5lco7EP9hHMV96RxqyZcrDU1Hi"
)

// program is the distribution registry. Go keeps it in its cache.
var program = sync.OnceValues(func() (string, error) {
	tool := exec.Command("go", "tool", "-n", "registry")
	tool.Dir = "../registry"
	// A machine without the modules says on stderr what it downloads.
	tool.Stderr = os.Stderr
	path, err := tool.Output()
	return strings.TrimSpace(string(path)), err
})

// registry is a running one.
type registry struct {
	host string
	auth authn.Authenticator
}

type registryOptions struct{ isOpen, keeps bool }

// startRegistry starts the distribution registry on loopback. It asks for a password unless it is open.
func startRegistry(t testing.TB, o registryOptions) registry {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("building the registry: %v %s", err, path)
	}
	dir := t.TempDir()
	r := registry{freeAddress(t), authn.Anonymous}
	config := fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nhttp: {addr: '%s'}\nstorage: {filesystem: {rootdirectory: '%s'}, delete: {enabled: %v}}\n", r.host, dir, !o.keeps)
	if !o.isOpen {
		r.auth = &authn.Basic{Username: operator, Password: password}
		config += fmt.Sprintf("auth: {htpasswd: {realm: test, path: '%s/htpasswd'}}\n", dir)
		write(t, dir+"/htpasswd", operator+":"+hashed+"\n")
	}
	write(t, dir+"/config.yml", config)
	cmd := exec.Command(path, "serve", dir+"/config.yml")
	said := &buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of the registry:\n%s", said)
		}
	})
	eventually(t, "the registry answers", func() bool {
		response, err := http.Get("http://" + r.host + "/v2/")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return r
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// settings make it the operator's registry of a plane, with the prefix builds.
func (r registry) settings(t testing.TB) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	write(t, file, fmt.Sprintf(`{"auths":{"http://%s/v2/":{"username":%q,"password":%q}}}`, r.host, operator, password))
	return append([]string{"-registry=" + r.host + "/builds", "-docker-config=" + file}, local...)
}

func (r registry) reference(t testing.TB, path string) name.Reference {
	t.Helper()
	reference, err := name.ParseReference(r.host + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

// push puts an image there.
func (r registry) push(t testing.TB, path string, image v1.Image) v1.Hash {
	t.Helper()
	if err := remote.Write(r.reference(t, path), image, remote.WithAuth(r.auth)); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// pull reads an image back.
func (r registry) pull(t testing.TB, path string) v1.Image {
	t.Helper()
	image, err := remote.Image(r.reference(t, path), remote.WithAuth(r.auth))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// newImage makes one for an architecture.
func newImage(t testing.TB, architecture string, layers int64) v1.Image {
	t.Helper()
	made, err := random.Image(10_000, layers)
	if err != nil {
		t.Fatal(err)
	}
	config, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	config.Config = v1.Config{
		Env: []string{"PATH=/bin", "KEPT=1"}, User: "base", WorkingDir: "/base", Entrypoint: []string{"/entry"}, Cmd: []string{"run"},
		Labels: map[string]string{"base": "yes"},
	}
	if made, err = mutate.ConfigFile(made, config); err != nil {
		t.Fatal(err)
	}
	return made
}

// newIndex makes an index of images for two architectures.
func newIndex(t testing.TB, first, second v1.Image) v1.ImageIndex {
	t.Helper()
	add := func(image v1.Image, architecture string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}}}
	}
	return mutate.IndexMediaType(mutate.AppendManifests(empty.Index, add(first, "arm64"), add(second, "amd64")), types.OCIImageIndex)
}
