package images

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sandlot.dev/builder/internal/credentials"
	"sandlot.dev/builder/internal/guard"
	"sandlot.dev/builder/internal/refuse"
)

// Base is the image that a build begins with.
type Base struct {
	Image       string             `json:"image"`
	Credentials *credentials.Given `json:"credentials,omitempty"`
	// Trusted says that the operator named the image, or that it is one of a template: it may be in the operator's registry, and its
	// registry need not be on the list of those for tenants.
	Trusted bool `json:"trusted,omitempty"`
}

// Resolve looks the image up.
func (p *Plane) Resolve(ctx context.Context, base Base) (*Description, error) {
	image, err := p.open(ctx, base)
	if err != nil {
		return nil, err
	}
	return image.describe(), nil
}

// open reads manifest and configuration of a base.
func (p *Plane) open(ctx context.Context, base Base) (*image, error) {
	reference, err := p.parse(base)
	if err != nil {
		return nil, err
	}
	host := reference.Context().RegistryStr()
	if err := p.admit(base, host); err != nil {
		return nil, err
	}
	options, err := p.theirs(ctx, base, host)
	if err != nil {
		return nil, refuse.Image(base.Image, err)
	}
	found, err := p.read(base.Image, reference, options)
	if err != nil {
		return nil, refuse.Image(base.Image, err)
	}
	return found, nil
}

func (p *Plane) parse(base Base) (name.Reference, error) {
	bad := refuse.New(refuse.BadReference, "'%s' is no reference of an image", base.Image)
	if len(base.Image) > longestName {
		return nil, refuse.New(refuse.BadReference, "the reference of the image has more than %d characters", longestName)
	}
	reference, err := name.ParseReference(base.Image)
	if err != nil {
		return nil, bad
	}
	host := reference.Context().RegistryStr()
	if !repositoryForm.MatchString(reference.Context().RepositoryStr()) || strings.Contains(host, "*") {
		return nil, bad
	}
	reference, err = name.ParseReference(base.Image, p.nameOptions(host)...)
	if err != nil {
		return nil, bad
	}
	return reference, nil
}

// isOwn says whether the host is that of the operator's registry, however it is written.
func (p *Plane) isOwn(host string) bool {
	return guard.Canonical(host) == guard.Canonical(p.config.Registry)
}

// admit decides whether the registry of a base may be asked. A tenant that names the operator's registry would read images of others.
func (p *Plane) admit(base Base, host string) error {
	if base.Trusted {
		return nil
	}
	if p.isOwn(host) || !p.config.Policy.AllowsRegistry(host) {
		return refuse.New(refuse.NotAllowed, "fromImage '%s' is not allowed: registries are limited to %s", base.Image,
			strings.Join(p.config.Policy.Registries, ", "))
	}
	return nil
}

// theirs are the options for the registry of a base. The operator's credentials are only for what the operator named.
func (p *Plane) theirs(ctx context.Context, base Base, host string) ([]remote.Option, error) {
	var session http.RoundTripper = p.foreign.Session()
	if p.isOwn(host) {
		session = p.own.Session()
	}
	if base.Credentials == nil && base.Trusted {
		return options(ctx, session, remote.WithAuthFromKeychain(p.config.Keychain)), nil
	}
	auth, err := base.Credentials.Exchange(ctx, p.foreign.Session())
	if err != nil {
		return nil, err
	}
	return options(ctx, session, remote.WithAuth(auth)), nil
}
