package images

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"
	"sandlot.dev/builder/internal/refuse"
)

// copies is how many layers of a base are copied at a time.
const copies = 3

// Composition is an image to put together.
type Composition struct {
	Base Base `json:"base"`
	// Target is R:TAG of the operator's registry.
	Target string `json:"target"`
	// Layers are in the repository of the target already, and come on top of those of the base.
	Layers  []Layer   `json:"layers"`
	Changes Changes   `json:"changes"`
	History []Step    `json:"history"`
	Created time.Time `json:"created"`
}

// Changes are those of the configuration of the base. What is absent stays as it is.
type Changes struct {
	User    *string `json:"user,omitempty"`
	Workdir *string `json:"workdir,omitempty"`
	// Env replaces variables of the same name and adds others.
	Env    map[string]string `json:"env,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Step is an entry of the history. One without Empty has a layer.
type Step struct {
	CreatedBy string `json:"createdBy"`
	Empty     bool   `json:"empty,omitempty"`
}

// Composed is an image that was put together.
type Composed struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// Compose pushes an image. The tag points at it when all of it is in the registry.
func (p *Plane) Compose(ctx context.Context, c Composition) (*Composed, error) {
	tag, err := p.tag(c.Target)
	if err != nil {
		return nil, err
	}
	added, err := c.check()
	if err != nil {
		return nil, err
	}
	base, err := p.open(ctx, c.Base)
	if err != nil {
		return nil, err
	}
	if len(base.manifest.Layers)+len(added) > mostLayers+mostSteps {
		return nil, refuse.New(refuse.TooLarge, "the image has more than %d layers", mostLayers+mostSteps)
	}
	to := target{tag, p.ours(ctx)}
	if err := p.bring(ctx, base, to); err != nil {
		return nil, err
	}
	if err := to.find(added); err != nil {
		return nil, err
	}
	made, err := assemble(base, c, added)
	if err != nil {
		return nil, err
	}
	if made.size() > p.config.Limits.ImageBytes {
		return nil, refuse.New(refuse.TooLarge, "the image is too large: this installation allows %d bytes", p.config.Limits.ImageBytes)
	}
	digest, err := to.push(made)
	if err != nil {
		return nil, refuse.Own(c.Target, err)
	}
	return &Composed{digest.String(), made.size()}, nil
}

// target is where an image goes.
type target struct {
	tag     name.Tag
	options []remote.Option
}

// mostSteps is how many layers a build may add.
const mostSteps = 25

// check reads the layers of the request.
func (c Composition) check() ([]v1.Descriptor, error) {
	var added []v1.Descriptor
	for _, layer := range c.Layers {
		digest, err := v1.NewHash(layer.Digest)
		if err != nil {
			return nil, refuse.New(refuse.BadRequest, "'%s' is no digest", layer.Digest)
		}
		if _, err := v1.NewHash(layer.DiffID); err != nil {
			return nil, refuse.New(refuse.BadRequest, "'%s' is no digest", layer.DiffID)
		}
		if layer.Size <= 0 {
			return nil, refuse.New(refuse.BadRequest, "layer %s has no size", layer.Digest)
		}
		added = append(added, v1.Descriptor{Digest: digest, Size: layer.Size, MediaType: types.OCILayer})
	}
	full := 0
	for _, step := range c.History {
		if !step.Empty {
			full++
		}
	}
	if full != len(added) {
		return nil, refuse.New(refuse.BadRequest, "the history has %d steps with a layer, and the image %d layers", full, len(added))
	}
	return added, nil
}

// bring mounts or copies the layers of the base that the repository of the target lacks.
func (p *Plane) bring(ctx context.Context, base *image, to target) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copies)
	from := source{
		base.reference.Context(), append(slices.Clone(base.options), remote.WithContext(ctx)),
		func(err error) *refuse.Refusal { return refuse.Image(base.name, err) },
	}
	options := append(slices.Clone(to.options), remote.WithContext(ctx))
	for _, descriptor := range base.manifest.Layers {
		group.Go(func() error {
			var layer v1.Layer = from.blob(descriptor)
			if p.isOwn(from.repository.RegistryStr()) {
				layer = &remote.MountableLayer{Layer: layer, Reference: base.reference}
			}
			return remote.WriteLayer(to.tag.Repository, layer, options...)
		})
	}
	if err := group.Wait(); err != nil {
		return refuse.Own("a layer of '"+base.name+"'", err)
	}
	return nil
}

// find refuses layers that are not in the repository of the target.
func (t target) find(added []v1.Descriptor) error {
	for _, each := range added {
		absent := refuse.New(refuse.NotFound, "layer %s is not in '%s'", each.Digest, t.tag.RepositoryStr())
		layer := &blob{each, func() (io.ReadCloser, error) { return nil, absent }}
		if err := remote.WriteLayer(t.tag.Repository, layer, t.options...); err != nil {
			return refuse.Own(each.Digest.String(), err)
		}
	}
	return nil
}

// assemble makes configuration and manifest in the family of formats of the base.
func assemble(base *image, c Composition, added []v1.Descriptor) (*image, error) {
	config := base.config.DeepCopy()
	config.Created = v1.Time{Time: c.Created}
	for index, layer := range c.Layers {
		diffID, err := v1.NewHash(c.Layers[index].DiffID)
		if err != nil {
			return nil, refuse.New(refuse.BadRequest, "'%s' is no digest", layer.DiffID)
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, diffID)
	}
	for _, step := range c.History {
		config.History = append(config.History, v1.History{
			Created: v1.Time{Time: c.Created}, CreatedBy: step.CreatedBy, EmptyLayer: step.Empty, Comment: "sandlot template build",
		})
	}
	c.Changes.apply(&config.Config)
	manifest := base.manifest.DeepCopy()
	// These would speak of the base.
	manifest.Annotations, manifest.Subject = nil, nil
	for _, layer := range added {
		if base.mediaType == types.DockerManifestSchema2 {
			layer.MediaType = types.DockerLayer
		}
		manifest.Layers = append(manifest.Layers, layer)
	}
	return &image{name: c.Target, mediaType: base.mediaType, manifest: manifest, config: config}, nil
}

func (c Changes) apply(config *v1.Config) {
	if c.User != nil {
		config.User = *c.User
	}
	if c.Workdir != nil {
		config.WorkingDir = *c.Workdir
	}
	kept := slices.DeleteFunc(slices.Clone(config.Env), func(each string) bool {
		name, _, _ := strings.Cut(each, "=")
		_, isReplaced := c.Env[name]
		return isReplaced
	})
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		kept = append(kept, name+"="+c.Env[name])
	}
	config.Env = kept
	if config.Labels == nil && len(c.Labels) > 0 {
		config.Labels = map[string]string{}
	}
	maps.Copy(config.Labels, c.Labels)
}

// document is a manifest for a tag.
type document struct {
	text      []byte
	mediaType types.MediaType
}

func (d document) RawManifest() ([]byte, error)        { return d.text, nil }
func (d document) MediaType() (types.MediaType, error) { return d.mediaType, nil }

// push writes the configuration, and then the manifest under the tag.
func (t target) push(made *image) (v1.Hash, error) {
	config, err := json.Marshal(made.config)
	if err != nil {
		return v1.Hash{}, err
	}
	made.manifest.Config, err = write(t.tag.Repository, content{config, made.manifest.Config.MediaType}, t.options)
	if err != nil {
		return v1.Hash{}, err
	}
	return publish(t.tag, made.manifest, t.options)
}

// content is a small blob.
type content struct {
	text      []byte
	mediaType types.MediaType
}

func write(repository name.Repository, c content, options []remote.Option) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(c.text))
	if err != nil {
		return v1.Descriptor{}, err
	}
	descriptor := v1.Descriptor{Digest: digest, Size: size, MediaType: c.mediaType}
	layer := &blob{descriptor, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.text)), nil }}
	return descriptor, remote.WriteLayer(repository, layer, options...)
}

func publish(tag name.Tag, manifest *v1.Manifest, options []remote.Option) (v1.Hash, error) {
	text, err := json.Marshal(manifest)
	if err != nil {
		return v1.Hash{}, err
	}
	if len(text) > mostConfig {
		return v1.Hash{}, fmt.Errorf("%w: a manifest", refuse.ErrTooLarge)
	}
	digest, _, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		return v1.Hash{}, err
	}
	return digest, remote.Put(tag, document{text, manifest.MediaType}, options...)
}
