// Package images reads images from registries and writes those of templates to the registry of the operator.
package images

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sandlot.dev/builder/internal/guard"
	"sandlot.dev/builder/internal/refuse"
)

// Limits bound what one operation takes.
type Limits struct {
	// LayerBytes is the most that a layer may have before it is compressed.
	LayerBytes int64
	FileBytes  int64
	// ImageBytes is the most that all layers of an image may have, as they are in the registry.
	ImageBytes int64
}

// Config says where images go and what tenants may name.
type Config struct {
	// Registry is HOST or HOST:PORT, and Prefix begins the names of all repositories of builds.
	Registry, Prefix string
	Keychain         authn.Keychain
	Policy           guard.Policy
	Platform         v1.Platform
	Limits           Limits
}

// Plane carries out the operations. It is safe for concurrent use.
type Plane struct {
	config Config
	// own dials the operator's registry, and foreign those that tenants name.
	own, foreign *guard.Transport
	now          func() time.Time
}

// New makes a plane.
func New(config Config, own, foreign *guard.Transport) *Plane {
	return &Plane{config, own, foreign, time.Now}
}

// retries are few: the client repeats as well.
var retries = remote.Backoff{Duration: 300 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}

func options(ctx context.Context, transport http.RoundTripper, auth remote.Option) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithTransport(transport), auth, remote.WithRetryBackoff(retries),
		remote.WithUserAgent("sandlot-image"),
	}
}

// ours are the options for the operator's registry.
func (p *Plane) ours(ctx context.Context) []remote.Option {
	return options(ctx, p.own.Session(), remote.WithAuthFromKeychain(p.config.Keychain))
}

func (p *Plane) nameOptions(host string) []name.Option {
	if p.config.Policy.IsPlain(host) {
		return []name.Option{name.Insecure}
	}
	return nil
}

var (
	// repositoryForm is that of the distribution specification. It has no path that leads elsewhere.
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagForm        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	keyForm        = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

const longestName = 400

// repository returns one of the operator's registry, below its prefix.
func (p *Plane) repository(path string) (name.Repository, error) {
	if len(path) > longestName || !repositoryForm.MatchString(path) {
		return name.Repository{}, refuse.New(refuse.BadReference, "'%s' is no name of a repository", path)
	}
	full := strings.Trim(p.config.Prefix+"/"+path, "/")
	repository, err := name.NewRepository(p.config.Registry+"/"+full, p.nameOptions(p.config.Registry)...)
	if err != nil {
		return repository, refuse.New(refuse.BadReference, "'%s' is no name of a repository", path)
	}
	return repository, nil
}

// reference reads R:TAG or R@DIGEST of the operator's registry.
func (p *Plane) reference(text string) (name.Reference, error) {
	if path, digest, found := strings.Cut(text, "@"); found {
		repository, err := p.repository(path)
		if err != nil {
			return nil, err
		}
		if _, err := v1.NewHash(digest); err != nil {
			return nil, refuse.New(refuse.BadReference, "'%s' is no digest", digest)
		}
		return repository.Digest(digest), nil
	}
	return p.tag(text)
}

// tag reads R:TAG of the operator's registry.
func (p *Plane) tag(text string) (name.Tag, error) {
	path, tag, _ := strings.Cut(text, ":")
	repository, err := p.repository(path)
	if err != nil {
		return name.Tag{}, err
	}
	if !tagForm.MatchString(tag) {
		return name.Tag{}, refuse.New(refuse.BadReference, "'%s' has no tag", text)
	}
	return repository.Tag(tag), nil
}
