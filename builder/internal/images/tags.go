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

// mostTags is how many tags one answer has.
const mostTags = 20_000

// TagList has the tags of a repository.
type TagList struct {
	Tags []string `json:"tags"`
	// Whole says that there are no more.
	Whole bool `json:"whole"`
}

// Tags lists the tags of a repository. One that does not exist has none.
func (p *Plane) Tags(ctx context.Context, path string) (*TagList, error) {
	repository, err := p.repository(path)
	if err != nil {
		return nil, err
	}
	list := &TagList{Tags: []string{}, Whole: true}
	if err := p.listTags(ctx, repository, list); err != nil && !refuse.IsMissing(err) {
		return nil, refuse.Own("the list of tags of '"+path+"'", err)
	}
	return list, nil
}

func (p *Plane) listTags(ctx context.Context, repository name.Repository, list *TagList) error {
	puller, err := remote.NewPuller(p.ours(ctx)...)
	if err != nil {
		return err
	}
	pages, err := puller.Lister(ctx, repository)
	if err != nil {
		return err
	}
	for pages.HasNext() {
		page, err := pages.Next(ctx)
		if err != nil {
			return err
		}
		list.Tags = append(list.Tags, page.Tags...)
		if len(list.Tags) > mostTags {
			list.Tags, list.Whole = list.Tags[:mostTags], false
			return nil
		}
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
