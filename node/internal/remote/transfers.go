package remote

import (
	"context"
	"errors"
	"fmt"

	"sandlot.dev/node/internal/store"
)

// The kinds of transfers.
const (
	Uploading   = "upload"
	Downloading = "download"
	Deleting    = "delete"
)

// Outcome is a transfer that ended.
type Outcome struct {
	Kind string
	// Bytes are those of the snapshot; 0 with an error and for a deletion.
	Bytes int64
	Err   error
}

// transfer is one that is in progress. There is one of each snapshot at a time.
type transfer struct {
	kind, digest string
	cancel       context.CancelCauseFunc
	done         chan struct{}
	result       Uploaded
	err          error
}

// Upload puts a snapshot of the node into the bucket. A repeated request joins the upload in progress, sends what an earlier
// one did not, or gets the digest of the finished one. A caller that gives up does not end it. It returns store.ErrAbsent, a
// store.DamagedError or a BusyError.
func (r *Remote) Upload(ctx context.Context, key store.Key) (Uploaded, error) {
	if err := key.Check(); err != nil {
		return Uploaded{}, err
	}
	return r.run(ctx, key, &transfer{kind: Uploading})
}

// Download makes the upload with this digest a snapshot of the node. It succeeds if the node has the snapshot, and joins a
// download in progress. It returns ErrAbsent, a RefusedError, a store.NoSpaceError or a BusyError.
func (r *Remote) Download(ctx context.Context, key store.Key, digest string) (store.Manifest, error) {
	if err := errors.Join(key.Check(), CheckDigest(digest)); err != nil {
		return store.Manifest{}, err
	}
	done, err := r.run(ctx, key, &transfer{kind: Downloading, digest: digest})
	return done.Manifest, err
}

// Delete ends an upload of the snapshot in progress and removes it from the bucket. It succeeds if there is none.
func (r *Remote) Delete(ctx context.Context, key store.Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	if err := r.cancel(ctx, key, Uploading); err != nil {
		return err
	}
	_, err := r.run(ctx, key, &transfer{kind: Deleting})
	return err
}

// CancelDownload ends a download of the snapshot in progress and waits until nothing is left of it. One that finishes at this
// moment leaves a snapshot.
func (r *Remote) CancelDownload(ctx context.Context, key store.Key) error {
	return r.cancel(ctx, key, Downloading)
}

// Close cancels all transfers and waits for their ends.
func (r *Remote) Close() {
	r.end(ErrCancelled)
	r.running.Wait()
}

func (r *Remote) cancel(ctx context.Context, key store.Key, kind string) error {
	r.mutex.Lock()
	t := r.transfers[key]
	r.mutex.Unlock()
	if t == nil || t.kind != kind {
		return nil
	}
	t.cancel(ErrCancelled)
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Remote) run(ctx context.Context, key store.Key, wanted *transfer) (Uploaded, error) {
	t, err := r.join(key, wanted)
	if err != nil {
		return Uploaded{}, err
	}
	select {
	case <-t.done:
		return t.result, t.err
	case <-ctx.Done():
		return Uploaded{}, ctx.Err()
	}
}

// join returns the transfer in progress that is the wanted one, or begins it.
func (r *Remote) join(key store.Key, wanted *transfer) (*transfer, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if t := r.transfers[key]; t != nil {
		if t.kind == wanted.kind && t.digest == wanted.digest {
			return t, nil
		}
		return nil, &BusyError{fmt.Sprintf("a transfer of snapshot %s/%s is in progress: %s", key.Namespace, key.UID, t.kind)}
	}
	if wanted.kind != Deleting && len(r.transfers) >= r.MostTransfers {
		return nil, &BusyError{fmt.Sprintf("this node transfers %d snapshots already", len(r.transfers))}
	}
	if r.base.Err() != nil {
		return nil, &BusyError{"the agent ends"}
	}
	r.start(key, wanted)
	return wanted, nil
}

func (r *Remote) start(key store.Key, t *transfer) {
	ctx, cancel := context.WithCancelCause(r.base)
	t.cancel, t.done = cancel, make(chan struct{})
	r.transfers[key] = t
	arrived := func() {}
	if t.kind == Downloading && r.Arrive != nil {
		arrived = r.Arrive(key)
	}
	r.running.Go(func() {
		defer cancel(nil)
		defer arrived()
		t.result, t.err = r.act(ctx, key, t)
		if t.err != nil {
			t.result = Uploaded{}
		}
		if r.Observe != nil {
			r.Observe(Outcome{t.kind, t.result.Bytes, t.err})
		}
		r.mutex.Lock()
		delete(r.transfers, key)
		r.mutex.Unlock()
		close(t.done)
	})
}

func (r *Remote) act(ctx context.Context, key store.Key, t *transfer) (Uploaded, error) {
	switch t.kind {
	case Uploading:
		return r.upload(ctx, key)
	case Downloading:
		m, err := r.download(ctx, key, t.digest)
		return Uploaded{Manifest: m}, err
	}
	return Uploaded{}, r.remove(ctx, key)
}
