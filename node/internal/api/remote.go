package api

import (
	"context"
	"net/http"

	"sandlot.dev/node/internal/remote"
	"sandlot.dev/node/internal/store"
)

// remoteRoutes are there if the installation has a bucket.
func (a *Agent) remoteRoutes() []route {
	if a.Remote == nil {
		return nil
	}
	return []route{
		{"PUT /v1/uploads/{namespace}/{uid}", "RemoteFailed", a.uploadSnapshot},
		{"PUT /v1/downloads/{namespace}/{uid}", "RemoteFailed", a.downloadSnapshot},
		{"GET /v1/remote/{namespace}/{uid}", "RemoteFailed", a.verifyRemote},
		{"DELETE /v1/remote/{namespace}/{uid}", "RemoteFailed", a.deleteRemote},
	}
}

func (a *Agent) uploadSnapshot(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	if err := decode(r, &struct{}{}); err != nil {
		return nil, err
	}
	return orError(a.Remote.Upload(r.Context(), key))
}

type downloadBody struct {
	// Digest is what the upload answered.
	Digest string `json:"digest"`
}

func (a *Agent) downloadSnapshot(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	var body downloadBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if err := remote.CheckDigest(body.Digest); err != nil {
		return nil, refuse(err)
	}
	return orError(a.Remote.Download(r.Context(), key, body.Digest))
}

// verifyRemote reads every byte of a snapshot of the bucket.
func (a *Agent) verifyRemote(r *http.Request) (any, error) {
	key, err := readKeyOf(r, "digest")
	if err != nil {
		return nil, err
	}
	digest := r.URL.Query().Get("digest")
	if err := remote.CheckDigest(digest); err != nil {
		return nil, refuse(err)
	}
	return orError(a.Remote.Verify(r.Context(), key, digest))
}

func (a *Agent) deleteRemote(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	return nil, a.Remote.Delete(r.Context(), key)
}

// cancelDownload ends a download, so that no snapshot appears after its deletion.
func (a *Agent) cancelDownload(ctx context.Context, key store.Key) error {
	if a.Remote == nil {
		return nil
	}
	return a.Remote.CancelDownload(ctx, key)
}
