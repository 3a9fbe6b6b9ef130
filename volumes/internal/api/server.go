// Package api answers what the API of the release asks about volumes and their contents.
package api

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"sandlot.dev/volumes/internal/hop"
	"sandlot.dev/volumes/internal/store"
)

const (
	// stillness ends a transfer in which nothing moves.
	stillness = time.Minute
	// mostJSON is the longest body that is not a file.
	mostJSON = 4096
)

// Server has the operations.
type Server struct {
	store    *store.Store
	verifier *hop.Verifier
	log      *slog.Logger
}

// New returns a server of a store that answers requests which the verifier knows.
func New(store *store.Store, verifier *hop.Verifier, log *slog.Logger) *Server {
	return &Server{store: store, verifier: verifier, log: log}
}

type operation func(*Server, http.ResponseWriter, *http.Request) error

// Handler serves the operations.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, run := range map[string]operation{
		"PUT /volumes/{id}":         (*Server).make,
		"DELETE /volumes/{id}":      (*Server).remove,
		"GET /volumes/{id}/path":    (*Server).stat,
		"PATCH /volumes/{id}/path":  (*Server).change,
		"DELETE /volumes/{id}/path": (*Server).delete,
		"GET /volumes/{id}/dir":     (*Server).list,
		"POST /volumes/{id}/dir":    (*Server).makeDirectory,
		"GET /volumes/{id}/file":    (*Server).read,
		"PUT /volumes/{id}/file":    (*Server).write,
	} {
		mux.HandleFunc(pattern, s.guard(run))
	}
	return mux
}

// guard lets requests of the release pass, and answers errors.
func (s *Server) guard(run operation) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		err := s.verifier.Verify(request)
		if err != nil {
			answerError(writer, &store.Refusal{Status: http.StatusUnauthorized, Message: err.Error()})
			return
		}
		if err = run(s, writer, request); err == nil {
			return
		}
		var refusal *store.Refusal
		if !errors.As(err, &refusal) {
			s.log.Error("an operation failed", "method", request.Method, "volume", request.PathValue("id"), "error", err)
			refusal = &store.Refusal{Status: http.StatusInternalServerError, Message: "the storage of the volume failed"}
		}
		answerError(writer, refusal)
	}
}

func answerError(writer http.ResponseWriter, refusal *store.Refusal) {
	answer(writer, refusal.Status, map[string]string{"message": refusal.Message})
}

func answer(writer http.ResponseWriter, status int, body any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	// The client may be gone.
	_ = json.NewEncoder(writer).Encode(body)
}

func answerStat(writer http.ResponseWriter, status int, stat store.Stat, err error) error {
	if err == nil {
		answer(writer, status, stat)
	}
	return err
}

func answerNothing(writer http.ResponseWriter, err error) error {
	if err == nil {
		writer.WriteHeader(http.StatusNoContent)
	}
	return err
}

func id(request *http.Request) string { return request.PathValue("id") }

func path(request *http.Request) string { return request.URL.Query().Get("path") }

func (s *Server) make(writer http.ResponseWriter, request *http.Request) error {
	return answerNothing(writer, s.store.Make(id(request)))
}

func (s *Server) remove(writer http.ResponseWriter, request *http.Request) error {
	return answerNothing(writer, s.store.Remove(id(request)))
}

func (s *Server) stat(writer http.ResponseWriter, request *http.Request) error {
	stat, err := s.store.Stat(id(request), path(request))
	return answerStat(writer, http.StatusOK, stat, err)
}

func (s *Server) change(writer http.ResponseWriter, request *http.Request) error {
	var wanted struct {
		UID, GID, Mode *uint32
	}
	decoder := json.NewDecoder(io.LimitReader(request.Body, mostJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		return refused("expected a JSON object with uid, gid and mode as numbers")
	}
	stat, err := s.store.Change(id(request), path(request), store.Wanted{UID: wanted.UID, GID: wanted.GID, Mode: wanted.Mode})
	return answerStat(writer, http.StatusOK, stat, err)
}

func (s *Server) delete(writer http.ResponseWriter, request *http.Request) error {
	return answerNothing(writer, s.store.Delete(id(request), path(request)))
}

func (s *Server) list(writer http.ResponseWriter, request *http.Request) error {
	depth := 1
	if text := request.URL.Query().Get("depth"); text != "" {
		var err error
		if depth, err = strconv.Atoi(text); err != nil {
			depth = 0
		}
	}
	found, err := s.store.List(id(request), path(request), depth)
	if err == nil {
		answer(writer, http.StatusOK, found)
	}
	return err
}

func (s *Server) makeDirectory(writer http.ResponseWriter, request *http.Request) error {
	wanted, err := readWanted(request)
	if err != nil {
		return err
	}
	stat, err := s.store.MakeDirectory(id(request), path(request), wanted)
	return answerStat(writer, http.StatusCreated, stat, err)
}

func (s *Server) read(writer http.ResponseWriter, request *http.Request) error {
	file, size, err := s.store.Read(id(request), path(request))
	if err != nil {
		return err
	}
	defer file.Close()
	writer.Header().Set("Content-Type", "application/octet-stream")
	writer.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	writer.WriteHeader(http.StatusOK)
	// A sandbox may cut the file off or append to it: the length that was promised is what is sent, or the connection ends early.
	if copied, err := io.Copy(paced(writer), io.LimitReader(file, size)); err != nil || copied < size {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (s *Server) write(writer http.ResponseWriter, request *http.Request) error {
	wanted, err := readWanted(request)
	if err != nil {
		return err
	}
	body := &pacedReader{from: request.Body, controller: http.NewResponseController(writer)}
	stat, err := s.store.Write(id(request), path(request), wanted, body)
	if body.failed != nil {
		return refused("the upload ended early")
	}
	return answerStat(writer, http.StatusCreated, stat, err)
}

func readWanted(request *http.Request) (store.Wanted, error) {
	query := request.URL.Query()
	wanted := store.Wanted{Force: query.Get("force") == "true"}
	for name, place := range map[string]**uint32{"uid": &wanted.UID, "gid": &wanted.GID, "mode": &wanted.Mode} {
		if !query.Has(name) {
			continue
		}
		number, err := strconv.ParseUint(query.Get(name), 10, 32)
		if err != nil {
			return wanted, refused(name + ": expected a number")
		}
		small := uint32(number)
		*place = &small
	}
	return wanted, nil
}

func refused(message string) error {
	return &store.Refusal{Status: http.StatusBadRequest, Message: message}
}
