package images

import (
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sandlot.dev/builder/internal/refuse"
)

const (
	// mostLayers is what containerd can mount on top of each other, with room for those of a build.
	mostLayers = 100
	// mostConfig is more than the configuration of any image has that runs.
	mostConfig = 4 << 20
)

// layerTypes are those that every containerd unpacks.
var layerTypes = []types.MediaType{
	types.DockerLayer, types.DockerUncompressedLayer, types.OCILayer, types.OCIUncompressedLayer, types.OCILayerZStd,
}

// image is one that a registry has, without its layers.
type image struct {
	// name is how the caller wrote it.
	name      string
	reference name.Reference
	digest    v1.Hash
	mediaType types.MediaType
	manifest  *v1.Manifest
	config    *v1.ConfigFile
	options   []remote.Option
}

// read follows an index to the platform of the nodes. It reads no layer.
func (p *Plane) read(text string, reference name.Reference, options []remote.Option) (*image, error) {
	found, err := remote.Get(reference, options...)
	if err != nil {
		return nil, err
	}
	if found.MediaType.IsIndex() {
		if reference, err = p.choose(text, reference.Context(), found); err != nil {
			return nil, err
		}
		if found, err = remote.Get(reference, options...); err != nil {
			return nil, err
		}
	}
	if !found.MediaType.IsImage() {
		return nil, refuse.New(refuse.Unsupported, "image '%s' has a manifest of a kind that is not supported", text)
	}
	content, err := found.Image()
	if err != nil {
		return nil, err
	}
	made := &image{name: text, reference: reference, digest: found.Digest, mediaType: found.MediaType, options: options}
	if made.manifest, err = content.Manifest(); err != nil {
		return nil, err
	}
	if err := p.checkManifest(made); err != nil {
		return nil, err
	}
	if made.config, err = content.ConfigFile(); err != nil {
		return nil, err
	}
	return made, p.checkConfig(made)
}

func (p *Plane) choose(text string, repository name.Repository, found *remote.Descriptor) (name.Reference, error) {
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, each := range list.Manifests {
		if each.MediaType.IsImage() && each.Platform != nil && p.fits(each.Platform.OS, each.Platform.Architecture) {
			return repository.Digest(each.Digest.String()), nil
		}
	}
	return nil, p.missing(text)
}

func (p *Plane) fits(system, architecture string) bool {
	return system == p.config.Platform.OS && architecture == p.config.Platform.Architecture
}

func (p *Plane) missing(text string) error {
	return refuse.New(refuse.NotFound, "image '%s' not found: it has no variant for %s", text, p.config.Platform.String())
}

// checkManifest trusts no number of a registry.
func (p *Plane) checkManifest(i *image) error {
	config := i.manifest.Config
	if config.MediaType != types.DockerConfigJSON && config.MediaType != types.OCIConfigJSON {
		return refuse.New(refuse.Unsupported, "image '%s' is no image of a container", i.name)
	}
	if config.Size < 0 || config.Size > mostConfig || len(i.manifest.Layers) > mostLayers {
		return refuse.New(refuse.TooLarge, "image '%s' is too large: more than %d layers, or a configuration of more than %d bytes", i.name, mostLayers, mostConfig)
	}
	for _, layer := range i.manifest.Layers {
		if layer.Size < 0 || !slices.Contains(layerTypes, layer.MediaType) {
			return refuse.New(refuse.Unsupported, "image '%s' has a layer of a kind that is not supported", i.name)
		}
		if layer.Size > p.config.Limits.ImageBytes || i.size() > p.config.Limits.ImageBytes {
			return refuse.New(refuse.TooLarge, "image '%s' is too large: this installation allows %d bytes", i.name, p.config.Limits.ImageBytes)
		}
	}
	return nil
}

func (p *Plane) checkConfig(i *image) error {
	if !p.fits(i.config.OS, i.config.Architecture) {
		return p.missing(i.name)
	}
	if len(i.config.RootFS.DiffIDs) != len(i.manifest.Layers) {
		return refuse.New(refuse.Unsupported, "image '%s' contradicts itself: its configuration has other layers than its manifest", i.name)
	}
	return nil
}

// size is that of all layers. No sum of a hundred sizes below the limit overflows.
func (i *image) size() int64 {
	var size int64
	for _, layer := range i.manifest.Layers {
		if size += layer.Size; size < 0 {
			return 1<<63 - 1
		}
	}
	return size
}

// Description is what a client learns of an image.
type Description struct {
	Digest string `json:"digest"`
	// Size is that of all layers, in bytes, as they are in the registry.
	Size   int64     `json:"size"`
	Layers []Layer   `json:"layers"`
	Config RunConfig `json:"config"`
}

// Layer is one of an image.
type Layer struct {
	Digest    string `json:"digest"`
	DiffID    string `json:"diffID"`
	Size      int64  `json:"size"`
	MediaType string `json:"mediaType,omitempty"`
}

// RunConfig is how a container of the image starts.
type RunConfig struct {
	Env        []string          `json:"env"`
	User       string            `json:"user"`
	Workdir    string            `json:"workdir"`
	Entrypoint []string          `json:"entrypoint"`
	Cmd        []string          `json:"cmd"`
	Labels     map[string]string `json:"labels"`
}

func (i *image) describe() *Description {
	run := i.config.Config
	made := &Description{Digest: i.digest.String(), Size: i.size(), Layers: []Layer{}, Config: RunConfig{
		Env: run.Env, User: run.User, Workdir: run.WorkingDir, Entrypoint: run.Entrypoint, Cmd: run.Cmd, Labels: run.Labels,
	}}
	for index, layer := range i.manifest.Layers {
		made.Layers = append(made.Layers, Layer{
			layer.Digest.String(), i.config.RootFS.DiffIDs[index].String(), layer.Size, string(layer.MediaType),
		})
	}
	return made
}

// String names the image in the log.
func (i *image) String() string { return fmt.Sprintf("%s@%s", i.reference.Context(), i.digest) }
