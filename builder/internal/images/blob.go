package images

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/stream"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sandlot.dev/builder/internal/refuse"
)

// errOpaque refuses to look into a blob. No process outside of sandboxes unpacks what a tenant made.
var errOpaque = errors.New("the builder unpacks nothing")

// blob is a v1.Layer of a known digest.
type blob struct {
	descriptor v1.Descriptor
	open       func() (io.ReadCloser, error)
}

func (b *blob) Digest() (v1.Hash, error)             { return b.descriptor.Digest, nil }
func (b *blob) DiffID() (v1.Hash, error)             { return v1.Hash{}, errOpaque }
func (b *blob) Size() (int64, error)                 { return b.descriptor.Size, nil }
func (b *blob) MediaType() (types.MediaType, error)  { return b.descriptor.MediaType, nil }
func (b *blob) Compressed() (io.ReadCloser, error)   { return b.open() }
func (b *blob) Uncompressed() (io.ReadCloser, error) { return nil, errOpaque }

// source is where blobs of an image are.
type source struct {
	repository name.Repository
	options    []remote.Option
	// explain makes an answer of an error of the registry.
	explain func(error) *refuse.Refusal
}

// blob reads from a registry that is not trusted: it may send neither more nor less than the descriptor says.
func (s source) blob(descriptor v1.Descriptor) *blob {
	return &blob{descriptor, func() (io.ReadCloser, error) {
		layer, err := remote.Layer(s.repository.Digest(descriptor.Digest.String()), s.options...)
		if err != nil {
			return nil, s.explain(err)
		}
		body, err := layer.Compressed()
		if err != nil {
			return nil, s.explain(err)
		}
		return &exact{body, descriptor.Size, s.explain}, nil
	}}
}

// exact fails for a body that is longer or shorter.
type exact struct {
	io.ReadCloser
	left    int64
	explain func(error) *refuse.Refusal
}

func (e *exact) Read(into []byte) (int, error) {
	read, err := e.ReadCloser.Read(into)
	e.left -= int64(read)
	switch {
	case e.left < 0:
		return 0, e.explain(fmt.Errorf("%w: a blob is longer than its manifest says", refuse.ErrTooLarge))
	case errors.Is(err, io.EOF) && e.left > 0:
		return read, e.explain(io.ErrUnexpectedEOF)
	case err == nil, errors.Is(err, io.EOF):
		return read, err
	}
	return read, e.explain(err)
}

// opaque streams a body into a registry as it is. Its digest is known at the end.
type opaque struct {
	body   io.ReadCloser
	kind   types.MediaType
	mutex  sync.Mutex
	hash   hash.Hash
	size   int64
	isDone bool
}

func newOpaque(body io.ReadCloser, kind types.MediaType) *opaque {
	return &opaque{body: body, kind: kind, hash: sha256.New()}
}

// Digest implements v1.Layer. The error is the one by which go-containerregistry recognises a stream.
func (o *opaque) Digest() (v1.Hash, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.isDone {
		return v1.Hash{}, stream.ErrNotComputed
	}
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(o.hash.Sum(nil))}, nil
}

func (o *opaque) Size() (int64, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.isDone {
		return 0, stream.ErrNotComputed
	}
	return o.size, nil
}

func (o *opaque) DiffID() (v1.Hash, error)             { return o.Digest() }
func (o *opaque) MediaType() (types.MediaType, error)  { return o.kind, nil }
func (o *opaque) Uncompressed() (io.ReadCloser, error) { return nil, errOpaque }

// Compressed implements v1.Layer. The body can be read once.
func (o *opaque) Compressed() (io.ReadCloser, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.size > 0 || o.isDone {
		return nil, stream.ErrConsumed
	}
	return o, nil
}

// Read implements io.Reader.
func (o *opaque) Read(into []byte) (int, error) {
	read, err := o.body.Read(into)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.hash.Write(into[:read])
	o.size += int64(read)
	o.isDone = errors.Is(err, io.EOF)
	return read, err
}

// Close implements io.Closer.
func (o *opaque) Close() error { return o.body.Close() }
