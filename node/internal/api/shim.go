package api

import (
	"errors"
	"net/http"

	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/names"
)

var errNoOutcome = errors.New("restored is absent: it must be true or false")

// Shim is the API of the shim.
func (a *Agent) Shim() http.Handler {
	return handle([]route{
		{"POST /v1/begin", "Internal", a.begin},
		{"POST /v1/end", "Internal", a.end},
		{"POST /v1/start", "Internal", a.start},
	})
}

type beginAnswer struct {
	// ImagePath is a folder of the node: the agent has its store at the same path.
	ImagePath  string `json:"imagePath,omitempty"`
	Background bool   `json:"background"`
	Direct     bool   `json:"direct"`
	// Files are tars of the node, by container, for a Pod that begins with its files alone.
	Files map[string]string `json:"files,omitempty"`
}

func (a *Agent) begin(r *http.Request) (any, error) {
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	var request grants.Request
	if err := decode(r, &request); err != nil {
		return nil, err
	}
	if err := request.Check(); err != nil {
		return nil, refuse(err)
	}
	given, err := a.Grants.Begin(r.Context(), request)
	return orError(beginAnswer{ImagePath: given.Folder, Background: given.Folder != "", Direct: given.Direct, Files: given.Files}, err)
}

type endBody struct {
	PodUID   string `json:"podUid"`
	Restored *bool  `json:"restored"`
	Message  string `json:"message"`
}

func (a *Agent) end(r *http.Request) (any, error) {
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	var body endBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if err := names.CheckUID("podUid", body.PodUID); err != nil {
		return nil, refuse(err)
	}
	if body.Restored == nil {
		return nil, refuse(errNoOutcome)
	}
	return nil, a.Grants.End(body.PodUID, *body.Restored, body.Message)
}

type startBody struct {
	PodUID string `json:"podUid"`
}

// start lets a Pod start without its memory after its sandbox ended while it stood still.
func (a *Agent) start(r *http.Request) (any, error) {
	if err := checkQuery(r); err != nil {
		return nil, err
	}
	var body startBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if err := names.CheckUID("podUid", body.PodUID); err != nil {
		return nil, refuse(err)
	}
	return nil, a.Saver.CheckStart(body.PodUID)
}
