package files

import (
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sandlot.dev/runtime/internal/fsops"
	"sandlot.dev/runtime/internal/httpx"
)

// Written is the answer about one written file.
type Written struct {
	Path     string            `json:"path"`
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func writtenAt(path string) Written {
	return Written{Path: path, Name: filepath.Base(path), Type: "file"}
}

func (s *Service) upload(w http.ResponseWriter, r *request) *httpx.Error {
	metadata, failure := metadataOf(r.Header)
	if failure != nil {
		return failure
	}
	httpx.Patient(w, r.Request)
	kind, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var written []Written
	switch kind {
	case "multipart/form-data":
		written, failure = s.parts(r, parameters["boundary"], metadata)
	case "application/octet-stream":
		written, failure = s.raw(r, metadata)
	default:
		return httpx.Fail(http.StatusBadRequest, "the content type must be multipart/form-data or application/octet-stream")
	}
	if failure != nil {
		return failure
	}
	httpx.WriteJSON(w, http.StatusOK, written)
	return nil
}

func (s *Service) raw(r *request, metadata map[string]string) ([]Written, *httpx.Error) {
	if r.path == "" {
		return nil, httpx.Fail(http.StatusBadRequest, "the query must have 'path'")
	}
	var body io.Reader = r.Body
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, httpx.Fail(http.StatusBadRequest, "the body is not gzip")
		}
		body = unzipped
	default:
		return nil, httpx.Fail(http.StatusBadRequest, "the content encoding must be gzip or none")
	}
	entry, failure := s.store(r, upload{path: r.path, content: body, metadata: metadata})
	if failure != nil {
		return nil, failure
	}
	return []Written{entry}, nil
}

// parts writes every part named `file` while it arrives.
func (s *Service) parts(r *request, boundary string, metadata map[string]string) ([]Written, *httpx.Error) {
	if boundary == "" {
		return nil, httpx.Fail(http.StatusBadRequest, "the content type has no boundary")
	}
	reader := multipart.NewReader(r.Body, boundary)
	written := []Written{}
	targets := map[string]bool{}
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, bodyFailure(err)
		}
		if part.FormName() != "file" {
			continue
		}
		target, failure := s.target(r, part)
		if failure != nil {
			return nil, failure
		}
		if targets[target] {
			return nil, httpx.Fail(http.StatusBadRequest, "the file '"+target+"' is in the upload twice")
		}
		targets[target] = true
		entry, failure := s.store(r, upload{path: target, content: part, metadata: metadata})
		if failure != nil {
			return nil, failure
		}
		written = append(written, entry)
	}
	if len(written) == 0 {
		return nil, httpx.Fail(http.StatusBadRequest, "the upload has no part named 'file'")
	}
	return written, nil
}

// target returns the path of the query, else the whole file name of the part. Part.FileName would return only its
// last element.
func (s *Service) target(r *request, part *multipart.Part) (string, *httpx.Error) {
	path := r.path
	if path == "" {
		_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || parameters["filename"] == "" {
			return "", httpx.Fail(http.StatusBadRequest, "neither the query nor the part says where to write")
		}
		path = formEscapes.Replace(parameters["filename"])
	}
	absolute, err := s.Session.Resolve(path, r.user)
	if err != nil {
		return "", httpx.Fail(http.StatusBadRequest, err.Error())
	}
	return absolute, nil
}

// formEscapes undoes the escapes that HTML specifies for names in form data.
var formEscapes = strings.NewReplacer("%22", `"`, "%0D", "\r", "%0A", "\n", "%0d", "\r", "%0a", "\n")

type upload struct {
	path     string
	content  io.Reader
	metadata map[string]string
}

func (s *Service) store(r *request, u upload) (Written, *httpx.Error) {
	path, err := s.Session.Resolve(u.path, r.user)
	if err != nil {
		return Written{}, httpx.Fail(http.StatusBadRequest, err.Error())
	}
	file, err := fsops.Create(s.Session, path, r.user)
	if err != nil {
		return Written{}, failureOf(err)
	}
	kept, err := fill(file, u)
	if closing := file.Close(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		return Written{}, bodyFailure(err)
	}
	entry := writtenAt(path)
	entry.Metadata = kept
	return entry, nil
}

func fill(file *os.File, u upload) (map[string]string, error) {
	// The wrapper hides the file's ReadFrom, which would ignore this buffer for some readers.
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, u.content, make([]byte, 64<<10)); err != nil {
		return nil, err
	}
	return fsops.SetMetadata(file, u.metadata)
}

// bodyFailure maps an error of reading the body or writing the file to an answer.
func bodyFailure(err error) *httpx.Error {
	var path *os.PathError
	switch {
	case errors.As(err, &path), fsops.OutOfSpace(err):
		return failureOf(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return httpx.Fail(http.StatusRequestTimeout, "no byte of the upload arrived for 60 seconds")
	}
	return httpx.Fail(http.StatusBadRequest, "the body could not be read: "+err.Error())
}
