// Package api has the two APIs of the agent: that of the controller over mutual TLS, and that of the shim on a unix socket.
// No caller names a path: names become paths only after package names accepted them.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/names"
	"sandlot.dev/node/internal/remote"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

const (
	// mostWait bounds how long a caller may wait for the end of a restore.
	mostWait = 60 * time.Second
	// patience bounds how long a deletion waits for a save in progress.
	patience = 60 * time.Second
)

// Agent is what the APIs work with.
type Agent struct {
	// Node is the name of the Kubernetes node.
	Node   string
	Store  *store.Store
	Saver  *save.Saver
	Grants *grants.Ledger
	// Machine describes the node.
	Machine func(context.Context) (fingerprint.Fingerprint, error)
	// Remote has the snapshots of a bucket; nil: the installation has none, and the API no routes for it.
	Remote *remote.Remote
}

// Controller is the API of the controller.
func (a *Agent) Controller() http.Handler {
	return handle(append(a.remoteRoutes(), []route{
		{"GET /v1/node", "Internal", a.describeNode},
		{"GET /v1/snapshots", "Internal", a.listSnapshots},
		{"GET /v1/snapshots/{namespace}/{uid}", "Internal", a.getSnapshot},
		{"PUT /v1/snapshots/{namespace}/{uid}", "SaveFailed", a.saveSnapshot},
		{"DELETE /v1/snapshots/{namespace}/{uid}", "Internal", a.deleteSnapshot},
		{"POST /v1/holds/{namespace}/{uid}", "Internal", a.releaseHold},
		{"PUT /v1/copies/{namespace}/{uid}", "CopyFailed", a.copySnapshot},
		{"GET /v1/restores/{podUid}", "Internal", a.getRestore},
		{"PUT /v1/restores/{podUid}", "Internal", a.announceRestore},
		{"DELETE /v1/restores/{podUid}", "Internal", a.withdrawRestore},
	}...))
}

type nodeAnswer struct {
	Node        string                  `json:"node"`
	Fingerprint fingerprint.Fingerprint `json:"fingerprint"`
	FreeBytes   int64                   `json:"freeBytes"`
	UsedBytes   int64                   `json:"usedBytes"`
	Saving      int                     `json:"saving"`
}

func (a *Agent) describeNode(r *http.Request) (any, error) {
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	machine, err := a.Machine(r.Context())
	if err != nil {
		return nil, err
	}
	space, err := a.Store.MeasureSpace()
	if err != nil {
		return nil, err
	}
	return nodeAnswer{a.Node, machine, space.FreeBytes, space.UsedBytes, a.Saver.CountSaves()}, nil
}

func (a *Agent) listSnapshots(r *http.Request) (any, error) {
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	manifests, damaged := a.Store.List()
	for _, err := range damaged {
		slog.Warn("a snapshot is not listed", "error", err.Error())
	}
	return map[string][]store.Manifest{"snapshots": append([]store.Manifest{}, manifests...)}, nil
}

func (a *Agent) getSnapshot(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	return orError(a.Store.Get(key))
}

type saveBody struct {
	Source store.Source `json:"source"`
	Mode   save.Mode    `json:"mode"`
	// Contents are Memory, or Files for a snapshot without memory. Absent: Memory.
	Contents string `json:"contents"`
	// Files asks for the files of the containers beside the memory.
	Files bool `json:"files"`
	// MostBytes is what the quota of the namespace has left. Absent: there is none.
	MostBytes *int64 `json:"mostBytes"`
	// HoldSeconds is how long the Pod stands still after its save, for copies of its disks. Absent: not at all.
	HoldSeconds int `json:"holdSeconds"`
}

func (a *Agent) saveSnapshot(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	var body saveBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Contents == "Memory" {
		body.Contents = ""
	}
	request := save.Request{Snapshot: key, Source: body.Source, Mode: body.Mode, Contents: body.Contents, KeepFiles: body.Files, MostBytes: body.MostBytes, HoldSeconds: body.HoldSeconds}
	if err := request.Check(); err != nil {
		return nil, refuse(err)
	}
	return orError(a.Saver.Save(r.Context(), request))
}

type holdBody struct {
	Action string `json:"action"`
}

type holdAnswer struct {
	// Held is true: the Pod stood still from its save until now.
	Held bool `json:"held"`
}

func (a *Agent) releaseHold(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	var body holdBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Action != "release" {
		return nil, refuse(fmt.Errorf("action is %q: it must be release", body.Action))
	}
	return orError(holdAnswer{Held: true}, a.Saver.Release(r.Context(), key))
}

type copyBody struct {
	// From is the UID of a SandboxSnapshot of the same namespace.
	From string `json:"from"`
}

func (a *Agent) copySnapshot(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	var body copyBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if err := names.CheckUID("from", body.From); err != nil {
		return nil, refuse(err)
	}
	defer a.Grants.Arrive(key.Namespace)()
	return orError(a.Store.Copy(key, body.From))
}

func (a *Agent) deleteSnapshot(r *http.Request) (any, error) {
	key, err := readKeyOf(r, "pod")
	if err != nil {
		return nil, err
	}
	erase := a.Saver.Delete
	switch pod := r.URL.Query().Get("pod"); {
	case pod == "stay":
		erase = a.Saver.DeleteSpent
	case r.URL.Query().Has("pod"):
		return nil, refuse(fmt.Errorf("pod is %q: it must be stay, or absent", pod))
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if err := a.cancelDownload(ctx, key); err != nil {
		return nil, err
	}
	return nil, erase(ctx, key)
}

type restoreBody struct {
	Namespace   string `json:"namespace"`
	PodName     string `json:"podName"`
	SnapshotUID string `json:"snapshotUid"`
	// Only is "files" for a Pod that begins with the files of the snapshot and not with its memory.
	Only string `json:"only"`
	// Spare is set for a Pod of a warm pool: those that a claim waits for are restored first.
	Spare bool `json:"spare"`
}

type restoreAnswer struct {
	State   grants.State `json:"state"`
	Message string       `json:"message"`
}

func (a *Agent) announceRestore(r *http.Request) (any, error) {
	podUID, err := readPodUID(r)
	if err != nil {
		return nil, err
	}
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	var body restoreBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	request := grants.Request{Namespace: body.Namespace, PodName: body.PodName, PodUID: podUID, SnapshotUID: body.SnapshotUID, Only: body.Only, Spare: body.Spare}
	if err := request.Check(); err != nil {
		return nil, refuse(err)
	}
	return describeGrant(a.Grants.Announce(r.Context(), request))
}

func (a *Agent) getRestore(r *http.Request) (any, error) {
	podUID, err := readPodUID(r)
	if err != nil {
		return nil, err
	}
	wait, err := readWait(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	return describeGrant(a.Grants.Wait(ctx, podUID))
}

func (a *Agent) withdrawRestore(r *http.Request) (any, error) {
	podUID, err := readPodUID(r)
	if err != nil {
		return nil, err
	}
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	return nil, a.Grants.Withdraw(podUID)
}

func describeGrant(g grants.Grant, err error) (any, error) {
	return orError(restoreAnswer{g.State, g.Message}, err)
}

// orError drops the zero value beside an error.
func orError[T any](value T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return value, nil
}

func readKey(r *http.Request) (store.Key, error) { return readKeyOf(r) }

// readKeyOf reads the key of a request that may have these query parameters.
func readKeyOf(r *http.Request, parameters ...string) (store.Key, error) {
	key := store.Key{Namespace: r.PathValue("namespace"), UID: r.PathValue("uid")}
	if err := key.Check(); err != nil {
		return store.Key{}, refuse(err)
	}
	return key, checkQuery(r, parameters...)
}

func readPodUID(r *http.Request) (string, error) {
	podUID := r.PathValue("podUid")
	if err := names.CheckUID("podUid", podUID); err != nil {
		return "", refuse(err)
	}
	return podUID, nil
}

func readWait(r *http.Request) (time.Duration, error) {
	if err := checkQuery(r, "waitSeconds"); err != nil {
		return 0, err
	}
	text := r.URL.Query().Get("waitSeconds")
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseUint(text, 10, 16)
	if err != nil || time.Duration(seconds)*time.Second > mostWait {
		return 0, refuse(fmt.Errorf("waitSeconds is %q: it must be a whole number up to %d", text, int(mostWait.Seconds())))
	}
	return time.Duration(seconds) * time.Second, nil
}
