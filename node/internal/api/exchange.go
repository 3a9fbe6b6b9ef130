package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

const (
	mostBody = 16 << 10
	// bodyLimit bounds how long a caller may take to send a body.
	bodyLimit = 10 * time.Second
)

// act does what a request asks for and returns the answer; nil: there is nothing to say.
type act func(r *http.Request) (any, error)

// route is an act with its pattern. Code is that of errors without a better one.
type route struct {
	pattern string
	code    string
	act     act
}

func handle(routes []route) http.Handler {
	mux := http.NewServeMux()
	for _, each := range append(routes, route{"/", "NotFound", func(r *http.Request) (any, error) { return nil, unknownRoute(r) }}) {
		mux.HandleFunc(each.pattern, func(w http.ResponseWriter, r *http.Request) { answer(w, r, each) })
	}
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, to route) {
	began := time.Now()
	result, err := readBounded(w, r, to.act)
	status := http.StatusOK
	switch {
	case err != nil:
		p := explain(err, to.code)
		status, result = p.status, p
	case result == nil:
		status = http.StatusNoContent
	}
	report(r, status, err, time.Since(began))
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(result); err != nil {
		slog.Debug("the caller went away", "path", r.URL.Path, "error", err.Error())
	}
}

// readBounded bounds size and time of the body. The time ends with the body: a save takes longer.
func readBounded(w http.ResponseWriter, r *http.Request, do act) (any, error) {
	connection := http.NewResponseController(w)
	if err := connection.SetReadDeadline(time.Now().Add(bodyLimit)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
		return nil, &problem{http.StatusRequestEntityTooLarge, "TooLarge", fmt.Sprintf("the body has more than %d bytes", mostBody)}
	}
	if err != nil {
		return nil, refuse(err)
	}
	if err := connection.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	if len(text) > 0 && r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil, refuse(fmt.Errorf("%s has no body", r.Method))
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return do(r)
}

// report logs changes, and errors that are the agent's own.
func report(r *http.Request, status int, err error, took time.Duration) {
	level := slog.LevelInfo
	fields := []any{"method", r.Method, "path", r.URL.Path, "status", status, "milliseconds", took.Milliseconds()}
	if err != nil {
		fields = append(fields, "error", err.Error())
	}
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case r.Method == http.MethodGet:
		level = slog.LevelDebug
	}
	slog.Log(r.Context(), level, "answered", fields...)
}

// decode reads a body of exactly one JSON value without unknown fields.
func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return refuse(fmt.Errorf("the body is not what the API wants: %w", err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(errors.New("the body goes on after its JSON value"))
	}
	return nil
}

// checkQuery refuses parameters that the route does not have, and repeated ones.
func checkQuery(r *http.Request, allowed ...string) error {
	for name, values := range r.URL.Query() {
		if !slices.Contains(allowed, name) || len(values) != 1 {
			return refuse(fmt.Errorf("the query parameter %q is unknown or repeated", name))
		}
	}
	return nil
}
