package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"sandlot.dev/node/internal/store"
)

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// CheckDigest refuses what is no digest of an upload.
func CheckDigest(digest string) error {
	if digestForm.MatchString(digest) {
		return nil
	}
	return fmt.Errorf("digest is %q: it must be the one that the upload answered, sha256: and 64 hexadecimal digits", digest)
}

func (r *Remote) download(ctx context.Context, key store.Key, digest string) (store.Manifest, error) {
	switch m, err := r.Store.Get(key); {
	case err == nil:
		return m, nil
	case !errors.Is(err, store.ErrAbsent):
		return store.Manifest{}, err
	}
	m, chunks, err := r.describe(ctx, key, digest)
	if err != nil {
		return store.Manifest{}, err
	}
	draft, err := r.Store.Begin(key, m.Bytes)
	if err != nil {
		return store.Manifest{}, err
	}
	finished, err := r.fill(ctx, draft, receiving{m, chunks})
	if err != nil {
		return store.Manifest{}, errors.Join(err, draft.Abandon())
	}
	return finished, nil
}

// receiving is what a download reads.
type receiving struct {
	manifest store.Manifest
	cipher   *chunkCipher
}

// fill makes the draft the snapshot of the manifest. Its checksums are compared once more, so that a mistake in the ciphers
// cannot make one that is damaged.
func (r *Remote) fill(ctx context.Context, draft *store.Draft, what receiving) (store.Manifest, error) {
	files := make([]*os.File, len(what.manifest.Files))
	for i, file := range what.manifest.Files {
		created, err := draft.Create(file.Name)
		if err != nil {
			return store.Manifest{}, err
		}
		defer created.Close()
		files[i] = created
	}
	err := r.readChunks(ctx, what, func(c chunk, plain []byte) error {
		_, err := files[c.file].WriteAt(plain, c.offset)
		return err
	})
	if err != nil {
		return store.Manifest{}, err
	}
	return draft.FinishAs(ctx, what.manifest)
}

func (r *Remote) readChunks(ctx context.Context, what receiving, take func(chunk, []byte) error) error {
	key := what.manifest.Key
	folder := folderOf(key) + "/" + what.cipher.upload + "/"
	return r.eachChunk(ctx, listChunks(what.manifest), func(ctx context.Context, c chunk, buffer []byte) error {
		sealed, err := r.bucket.get(ctx, folder+c.name(), buffer[:c.bytes+overhead])
		if errors.Is(err, ErrAbsent) || errors.Is(err, errTooLarge) {
			return &RefusedError{key, err.Error()}
		}
		if err != nil {
			return err
		}
		plain, err := what.cipher.open(c, sealed)
		if err != nil || int64(len(plain)) != c.bytes {
			return &RefusedError{key, fmt.Sprintf("object %s%s was changed, cut or swapped", folder, c.name())}
		}
		return take(c, plain)
	})
}

// Verify reads a snapshot of the bucket and returns its manifest. It returns what a download would.
func (r *Remote) Verify(ctx context.Context, key store.Key, digest string) (store.Manifest, error) {
	if err := errors.Join(key.Check(), CheckDigest(digest)); err != nil {
		return store.Manifest{}, err
	}
	m, chunks, err := r.describe(ctx, key, digest)
	if err != nil {
		return store.Manifest{}, err
	}
	return m, r.readChunks(ctx, receiving{m, chunks}, func(chunk, []byte) error { return nil })
}

// remove deletes the snapshot of the bucket. The manifest goes first, so that a death leaves no half snapshot.
func (r *Remote) remove(ctx context.Context, key store.Key) error {
	if err := r.bucket.remove(ctx, folderOf(key)+"/"+manifestObject); err != nil {
		return err
	}
	present, err := r.bucket.list(ctx, folderOf(key))
	if err != nil {
		return err
	}
	for name := range present {
		if err := r.bucket.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
