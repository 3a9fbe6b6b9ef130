package images

import (
	"context"
	"io"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sandlot.dev/builder/internal/refuse"
)

// emptyType is that of the configuration of an artifact, which has none.
const emptyType = types.MediaType("application/vnd.oci.empty.v1+json")

// fileType is that of an archive, and of the artifact that has it.
const fileType = types.MediaType("application/vnd.sandlot.build-files.v1")

// File is an archive of build files.
type File struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// FileName is where an archive is: the repository, and a key of 64 hexadecimal digits.
type FileName struct{ Path, Key string }

// String is the tag of the archive.
func (f FileName) String() string { return "f-" + f.Key }

func (p *Plane) fileTag(f FileName) (name.Tag, error) {
	repository, err := p.repository(f.Path)
	if err != nil {
		return name.Tag{}, err
	}
	if !keyForm.MatchString(f.Key) {
		return name.Tag{}, refuse.New(refuse.BadRequest, "a key has 64 lower-case hexadecimal digits")
	}
	return repository.Tag(f.String()), nil
}

// PutFile keeps an archive under a key. It replaces the one before when all of it has come.
func (p *Plane) PutFile(ctx context.Context, f FileName, body io.ReadCloser) (*File, error) {
	tag, err := p.fileTag(f)
	if err != nil {
		return nil, err
	}
	watched := &watched{ReadCloser: http.MaxBytesReader(nil, body, p.config.Limits.FileBytes)}
	streamed := newOpaque(watched, fileType)
	if err := remote.WriteLayer(tag.Repository, streamed, p.once(ctx)...); err != nil {
		return nil, watched.explain("the archive of build files", err)
	}
	digest, err := streamed.Digest()
	if err != nil {
		return nil, err
	}
	size, err := streamed.Size()
	if err != nil {
		return nil, err
	}
	options := p.ours(ctx)
	config, err := write(tag.Repository, content{[]byte("{}"), emptyType}, options)
	if err == nil {
		_, err = publish(tag, &v1.Manifest{
			SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: string(fileType), Config: config,
			Layers: []v1.Descriptor{{MediaType: fileType, Digest: digest, Size: size}},
		}, options)
	}
	if err != nil {
		return nil, refuse.Own("the archive of build files", err)
	}
	return &File{digest.String(), size}, nil
}

// FindFile says whether there is an archive under the key.
func (p *Plane) FindFile(ctx context.Context, f FileName) (*File, error) {
	_, found, err := p.findFile(ctx, f)
	if err != nil {
		return nil, err
	}
	return &File{found.Digest.String(), found.Size}, nil
}

func (p *Plane) findFile(ctx context.Context, f FileName) (name.Tag, *v1.Descriptor, error) {
	tag, err := p.fileTag(f)
	if err != nil {
		return tag, nil, err
	}
	found, err := remote.Get(tag, p.ours(ctx)...)
	if err != nil {
		return tag, nil, refuse.Own(f.String(), err)
	}
	image, err := found.Image()
	if err != nil {
		return tag, nil, refuse.Own(f.String(), err)
	}
	manifest, err := image.Manifest()
	if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != fileType {
		return tag, nil, refuse.New(refuse.NotFound, "'%s' is no archive of build files", f).Because(err)
	}
	return tag, &manifest.Layers[0], nil
}

// OpenFile returns the archive. A read fails if the registry has another one than it said.
func (p *Plane) OpenFile(ctx context.Context, f FileName) (*File, io.ReadCloser, error) {
	tag, found, err := p.findFile(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	from := source{tag.Repository, p.ours(ctx), func(err error) *refuse.Refusal { return refuse.Own(f.String(), err) }}
	body, err := from.blob(*found).open()
	if err != nil {
		return nil, nil, err
	}
	return &File{found.Digest.String(), found.Size}, body, nil
}
