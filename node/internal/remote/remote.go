// Package remote keeps snapshots in a bucket of an S3 server, sealed with a key of their namespace before they leave the node.
// Who writes to the bucket can lose a snapshot and cannot change one: a download is refused unless it is what was uploaded.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"sandlot.dev/node/internal/store"
)

// manifestObject makes a folder of the bucket a snapshot. It is written last and deleted first.
const manifestObject = "manifest"

// buffers bound the memory of all transfers: each has a chunk.
const buffers = 4

// Remote has the snapshots of a bucket.
type Remote struct {
	Options
	bucket  *bucket
	buffers chan []byte

	base      context.Context
	end       context.CancelCauseFunc
	mutex     sync.Mutex
	transfers map[store.Key]*transfer
	running   sync.WaitGroup
}

// Options are what a Remote works with.
type Options struct {
	Settings
	Store *store.Store
	// MostTransfers run at the same time.
	MostTransfers int
	// Arrive learns of each download that begins, and what it returns of its end; nil: neither.
	Arrive func(store.Key) (arrived func())
	// Observe learns of each transfer that ends.
	Observe func(Outcome)
}

// New opens the bucket. It asks the server nothing, and fails if the keys cannot be read.
func New(options Options) (*Remote, error) {
	if _, err := readKeyRing(options.Keys); err != nil {
		return nil, err
	}
	if _, err := readCredentials(options.Credentials); err != nil {
		return nil, err
	}
	r := &Remote{Options: options, bucket: openBucket(options.Settings), buffers: make(chan []byte, buffers), transfers: map[store.Key]*transfer{}}
	for range buffers {
		r.buffers <- nil
	}
	r.base, r.end = context.WithCancelCause(context.Background())
	return r, nil
}

func folderOf(key store.Key) string { return key.Namespace + "/" + key.UID }

// Uploaded is a snapshot of the bucket.
type Uploaded struct {
	store.Manifest
	// Digest is what a download of this upload needs. Only it tells the upload from an earlier one that an attacker put back.
	Digest string `json:"digest"`
}

func (r *Remote) upload(ctx context.Context, key store.Key) (Uploaded, error) {
	content, err := r.Store.OpenVerified(ctx, key)
	if err != nil {
		return Uploaded{}, err
	}
	defer content.Close()
	ring, err := readKeyRing(r.Keys)
	if err != nil {
		return Uploaded{}, err
	}
	chunks, err := newChunkCipher(ring, ring.first, content.Manifest)
	if err != nil {
		return Uploaded{}, err
	}
	present, err := r.bucket.list(ctx, folderOf(key))
	if err != nil {
		return Uploaded{}, err
	}
	folder := folderOf(key) + "/" + chunks.upload + "/"
	missing := listMissing(content.Manifest, folder, present)
	if text, isThere := r.findUploaded(ctx, ring, content.Manifest); isThere && len(missing) == 0 {
		return Uploaded{content.Manifest, sumEnvelope(text)}, r.removeOthers(ctx, folder, present)
	}
	if err := r.sendChunks(ctx, content, sending{chunks, folder, missing}); err != nil {
		return Uploaded{}, err
	}
	text, err := sealManifest(ring, content.Manifest)
	if err != nil {
		return Uploaded{}, err
	}
	if err := r.bucket.put(ctx, folderOf(key)+"/"+manifestObject, text); err != nil {
		return Uploaded{}, err
	}
	return Uploaded{content.Manifest, sumEnvelope(text)}, r.removeOthers(ctx, folder, present)
}

// listMissing returns the chunks that an earlier upload did not send. A download finds one that was changed.
func listMissing(m store.Manifest, folder string, present map[string]int64) []chunk {
	var missing []chunk
	for _, c := range listChunks(m) {
		if present[folder+c.name()] != c.bytes+overhead {
			missing = append(missing, c)
		}
	}
	return missing
}

// findUploaded returns the envelope of the bucket if it is that of this snapshot and of the first key.
func (r *Remote) findUploaded(ctx context.Context, ring keyRing, m store.Manifest) ([]byte, bool) {
	text, err := r.bucket.get(ctx, folderOf(m.Key)+"/"+manifestObject, make([]byte, mostEnvelope))
	if err != nil {
		return nil, false
	}
	only := keyRing{ring.first, map[string][]byte{ring.first: ring.secrets[ring.first]}}
	found, _, err := openManifest(only, m.Key, text)
	if err != nil {
		return nil, false
	}
	wanted, wantedErr := json.Marshal(m)
	got, gotErr := json.Marshal(found)
	return text, wantedErr == nil && gotErr == nil && bytes.Equal(wanted, got)
}

// sending is what an upload sends.
type sending struct {
	cipher  *chunkCipher
	folder  string
	missing []chunk
}

func (r *Remote) sendChunks(ctx context.Context, content *store.Content, what sending) error {
	files := make([]*os.File, len(content.Files))
	for i, file := range content.Files {
		open, err := content.Open(file)
		if err != nil {
			return err
		}
		defer open.Close()
		files[i] = open
	}
	return r.eachChunk(ctx, what.missing, func(ctx context.Context, c chunk, buffer []byte) error {
		plain := buffer[:c.bytes]
		if _, err := files[c.file].ReadAt(plain, c.offset); err != nil {
			return err
		}
		return r.bucket.put(ctx, what.folder+c.name(), what.cipher.seal(c, plain))
	})
}

// removeOthers deletes what earlier uploads of the snapshot left.
func (r *Remote) removeOthers(ctx context.Context, folder string, present map[string]int64) error {
	kept := path.Join(path.Dir(path.Clean(folder)), manifestObject)
	for name := range present {
		if name == kept || strings.HasPrefix(name, folder) {
			continue
		}
		if err := r.bucket.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// eachChunk works on several chunks at a time, as many as there are buffers. It ends with the first error.
func (r *Remote) eachChunk(ctx context.Context, chunks []chunk, work func(context.Context, chunk, []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for _, c := range chunks {
		var buffer []byte
		select {
		case buffer = <-r.buffers:
		case <-ctx.Done():
			group.Wait()
			return context.Cause(ctx)
		}
		if buffer == nil {
			buffer = make([]byte, store.ChunkBytes+overhead)
		}
		group.Go(func() {
			defer func() { r.buffers <- buffer }()
			if err := work(ctx, c, buffer); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// describe returns the manifest of the snapshot with the digest, and the cipher of its chunks.
func (r *Remote) describe(ctx context.Context, key store.Key, digest string) (store.Manifest, *chunkCipher, error) {
	ring, err := readKeyRing(r.Keys)
	if err != nil {
		return store.Manifest{}, nil, err
	}
	text, err := r.bucket.get(ctx, folderOf(key)+"/"+manifestObject, make([]byte, mostEnvelope))
	if errors.Is(err, errTooLarge) {
		return store.Manifest{}, nil, &RefusedError{key, "its manifest is too large"}
	}
	if err != nil {
		return store.Manifest{}, nil, err
	}
	if got := sumEnvelope(text); got != digest {
		return store.Manifest{}, nil, &RefusedError{key, fmt.Sprintf("its manifest has the digest %s and not %s", got, digest)}
	}
	return openManifest(ring, key, text)
}
