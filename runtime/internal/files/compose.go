package files

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"sandlot.dev/runtime/internal/fsops"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/users"
)

const maxComposeBytes = 4 << 20

type composeBody struct {
	SourcePaths []string `json:"source_paths"`
	Destination string   `json:"destination"`
	Username    string   `json:"username"`
}

// Compose returns the handler of /files/compose, which joins files into one, in order, and deletes them.
func (s *Service) Compose() http.Handler {
	return httpx.Handle(func(w http.ResponseWriter, r *http.Request) *httpx.Error {
		httpx.Patient(w, r)
		var body composeBody
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxComposeBytes)).Decode(&body); err != nil {
			return httpx.Fail(http.StatusBadRequest, "the body is not the JSON expected: "+err.Error())
		}
		user, err := s.Session.User(body.Username)
		if err != nil {
			return httpx.Fail(http.StatusUnauthorized, err.Error())
		}
		destination, sources, failure := s.resolveCompose(body, user)
		if failure != nil {
			return failure
		}
		if err := s.join(destination, sources, user); err != nil {
			return failureOf(err)
		}
		httpx.WriteJSON(w, http.StatusOK, writtenAt(destination))
		return nil
	})
}

func (s *Service) resolveCompose(body composeBody, user users.User) (string, []string, *httpx.Error) {
	if len(body.SourcePaths) == 0 || body.Destination == "" {
		return "", nil, httpx.Fail(http.StatusBadRequest, "source_paths and destination must not be empty")
	}
	destination, err := s.Session.Resolve(body.Destination, user)
	if err != nil {
		return "", nil, httpx.Fail(http.StatusBadRequest, err.Error())
	}
	sources := make([]string, 0, len(body.SourcePaths))
	for _, each := range body.SourcePaths {
		path, err := s.Session.Resolve(each, user)
		if err != nil {
			return "", nil, httpx.Fail(http.StatusBadRequest, err.Error())
		}
		if path == destination || slices.Contains(sources, path) {
			return "", nil, httpx.Fail(http.StatusBadRequest, "'"+path+"' is the destination or a source twice")
		}
		info, err := s.view(user).Stat(path)
		if err != nil {
			return "", nil, failureOf(err)
		}
		if !info.Mode().IsRegular() {
			return "", nil, failureOf(fsops.ErrNotRegular)
		}
		sources = append(sources, path)
	}
	return destination, sources, nil
}

// join writes a temporary file beside the destination first, so that a failure leaves the sources and the destination
// unchanged.
func (s *Service) join(destination string, sources []string, user users.User) error {
	replaced, err := s.view(user).Stat(destination)
	if err == nil && !replaced.Mode().IsRegular() {
		return fsops.ErrNotRegular
	}
	mode := os.FileMode(0o644)
	if err == nil {
		mode = replaced.Mode().Perm()
	}
	if err := fsops.MakeDirs(s.Session, filepath.Dir(destination), user); err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(destination), ".compose-"+rand.Text())
	partial, err := fsops.CreateNew(s.Session, path, user)
	if err != nil {
		return err
	}
	defer fsops.Remove(s.Session, path, user)
	err = s.appendAll(partial, sources, user)
	if err == nil {
		err = partial.Chmod(mode)
	}
	if closing := partial.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = fsops.Move(s.Session, path, destination, user)
	}
	if err != nil {
		return err
	}
	for _, source := range sources {
		_ = fsops.Remove(s.Session, source, user)
	}
	return nil
}

func (s *Service) appendAll(to *os.File, sources []string, user users.User) error {
	for _, source := range sources {
		from, _, err := fsops.OpenRegular(s.Session, source, user)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		_ = from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
