package images

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"sandlot.dev/builder/internal/refuse"
)

// PushLayer compresses a tar and pushes it while it comes. The body is a stranger's; it is hashed and not looked into.
func (p *Plane) PushLayer(ctx context.Context, path string, body io.ReadCloser) (*Layer, error) {
	repository, err := p.repository(path)
	if err != nil {
		return nil, err
	}
	watched := &watched{ReadCloser: http.MaxBytesReader(nil, body, p.config.Limits.LayerBytes)}
	packed, tar := pack(watched)
	layer := newOpaque(packed, types.OCILayer)
	if err := remote.WriteLayer(repository, layer, p.once(ctx)...); err != nil {
		return nil, watched.explain("the layer", err)
	}
	digest, err := layer.Digest()
	if err != nil {
		return nil, err
	}
	size, err := layer.Size()
	return &Layer{digest.String(), fmt.Sprintf("sha256:%x", tar.Sum(nil)), size, string(types.OCILayer)}, err
}

// pack compresses a tar while it is read. The hash is that of the tar, once all of it was read.
func pack(tar io.Reader) (io.ReadCloser, hash.Hash) {
	reader, writer := io.Pipe()
	sum := sha256.New()
	go func() {
		buffered := bufio.NewWriterSize(writer, bufferSize)
		packer, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
		if err == nil {
			_, err = io.CopyBuffer(io.MultiWriter(sum, packer), tar, make([]byte, bufferSize))
		}
		if err == nil {
			err = errors.Join(packer.Close(), buffered.Flush())
		}
		// Without an error the reader sees the end.
		_ = writer.CloseWithError(err)
	}()
	return reader, sum
}

const bufferSize = 1 << 17

// once are the options for a body that can be read once.
func (p *Plane) once(ctx context.Context) []remote.Option {
	return append(p.ours(ctx), remote.WithRetryPredicate(func(error) bool { return false }))
}

// watched remembers why a body could not be read: the error of a request that sent it may not say so.
type watched struct {
	io.ReadCloser
	mutex  sync.Mutex
	failed error
}

func (w *watched) Read(into []byte) (int, error) {
	read, err := w.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.failed = err
	}
	return read, err
}

func (w *watched) explain(what string, err error) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failed == nil {
		return refuse.Own(what, err)
	}
	refusal := refuse.Own(what, w.failed)
	if refusal.Reason != refuse.TooLarge {
		return refuse.New(refuse.Gone, "%s did not come to its end", what).Because(w.failed)
	}
	return refusal
}
