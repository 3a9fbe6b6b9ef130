package images

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sandlot.dev/builder/internal/refuse"
)

// Find describes an image of the operator's registry, R:TAG or R@DIGEST.
func (p *Plane) Find(ctx context.Context, text string) (*Description, error) {
	reference, err := p.reference(text)
	if err != nil {
		return nil, err
	}
	found, err := p.read(text, reference, p.ours(ctx))
	if err != nil {
		return nil, refuse.Own(text, err)
	}
	return found.describe(), nil
}

// Tag points a tag, R:TAG, at an image of the same repository.
func (p *Plane) Tag(ctx context.Context, text, digest string) error {
	tag, err := p.tag(text)
	if err != nil {
		return err
	}
	if _, err := v1.NewHash(digest); err != nil {
		return refuse.New(refuse.BadReference, "'%s' is no digest", digest)
	}
	options := p.ours(ctx)
	found, err := remote.Get(tag.Digest(digest), options...)
	if err == nil {
		err = remote.Tag(tag, found, options...)
	}
	if err != nil {
		return refuse.Own(tag.RepositoryStr()+"@"+digest, err)
	}
	return nil
}

// Deletion says what became of an image.
type Deletion struct {
	Deleted bool `json:"deleted"`
	// Kept says that the registry has no way to delete it.
	Kept bool `json:"kept"`
}

// Delete removes a tag, or with a digest an image and all its tags. One that is not there is no error.
func (p *Plane) Delete(ctx context.Context, text string) (Deletion, error) {
	reference, err := p.reference(text)
	if err != nil {
		return Deletion{}, err
	}
	return p.remove(ctx, text, reference)
}

func (p *Plane) remove(ctx context.Context, text string, reference name.Reference) (Deletion, error) {
	err := remote.Delete(reference, p.ours(ctx)...)
	switch {
	case err == nil:
		return Deletion{Deleted: true}, nil
	case refuse.IsKept(err):
		return Deletion{Kept: true}, nil
	case refuse.IsMissing(err):
		return Deletion{}, nil
	}
	return Deletion{}, refuse.Own(text, err)
}
