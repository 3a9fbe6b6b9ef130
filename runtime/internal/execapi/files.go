package execapi

import (
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/fsops"
	"sandlot.dev/runtime/internal/httpx"
)

// target resolves a path below the base. If it cannot, it writes the error and returns false.
func (s *Service) target(w http.ResponseWriter, path string) (string, bool) {
	at, err := s.Root.Place()
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return "", false
	}
	absolute, inside := at.Inside(path)
	if !inside {
		refuse(w, http.StatusForbidden, "Access denied: '"+path+"' is outside of the base directory")
	}
	return absolute, inside
}

func (s *Service) upload(w http.ResponseWriter, r *http.Request, _ string) {
	httpx.Patient(w, r)
	reader, err := r.MultipartReader()
	if err != nil {
		refuse(w, http.StatusBadRequest, "the body must be multipart/form-data")
		return
	}
	for {
		part, err := reader.NextRawPart()
		if err != nil {
			refuse(w, http.StatusBadRequest, "the body has no whole part named 'file'")
			return
		}
		if part.FormName() == "file" {
			s.store(w, part)
			return
		}
	}
}

func (s *Service) store(w http.ResponseWriter, part *multipart.Part) {
	_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name := parameters["filename"]
	if err != nil || name == "" {
		refuse(w, http.StatusBadRequest, "the part 'file' has no file name")
		return
	}
	path, ok := s.target(w, name)
	if !ok {
		return
	}
	if err := s.write(path, part); err != nil {
		refuse(w, http.StatusInternalServerError, "File upload failed: "+err.Error())
		return
	}
	httpx.WriteJSON(w, http.StatusOK, message{"File '" + name + "' uploaded successfully."})
}

func (s *Service) write(path string, content io.Reader) error {
	at, err := s.Root.Place()
	if err != nil {
		return err
	}
	file, err := fsops.Create(s.Root.Session, path, at.User)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, content, make([]byte, 64<<10))
	return errors.Join(err, file.Close())
}

func (s *Service) download(w http.ResponseWriter, r *http.Request, path string) {
	absolute, ok := s.target(w, path)
	if !ok {
		return
	}
	at, err := s.Root.Place()
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	file, info, err := fsops.OpenRegular(s.Root.Session, absolute, at.User)
	if err != nil {
		refuse(w, http.StatusNotFound, "File not found: '"+path+"'")
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		// Content-Length is sent already, so bytes that are appended meanwhile must not follow.
		_, _ = io.CopyN(w, file, info.Size())
	}
}

type fileEntry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Type string `json:"type"`
	// ModTime is in Unix seconds.
	ModTime float64 `json:"mod_time"`
}

func (s *Service) list(w http.ResponseWriter, _ *http.Request, path string) {
	absolute, ok := s.target(w, path)
	if !ok {
		return
	}
	at, err := s.Root.Place()
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	view := fsops.View{Session: s.Root.Session, User: at.User}
	if info, err := view.Stat(absolute); err != nil || !info.IsDir() {
		refuse(w, http.StatusNotFound, "Not a directory: '"+path+"'")
		return
	}
	entries, err := view.List(absolute, math.MaxInt)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	found := make([]fileEntry, 0, len(entries))
	for _, entry := range entries {
		// A symlink is listed with the type and size of its target, or with its own if it leads nowhere.
		info := entry.Info
		if entry.Link != nil && entry.Link.Info != nil {
			info = entry.Link.Info
		}
		kind := "file"
		if info.IsDir() {
			kind = "directory"
		}
		found = append(found, fileEntry{
			Name: strings.ToValidUTF8(filepath.Base(entry.Path), "\uFFFD"), Size: info.Size(), Type: kind,
			ModTime: float64(info.ModTime().UnixNano()) / float64(time.Second),
		})
	}
	httpx.WriteJSON(w, http.StatusOK, found)
}

func (s *Service) exists(w http.ResponseWriter, _ *http.Request, path string) {
	absolute, ok := s.target(w, path)
	if !ok {
		return
	}
	at, err := s.Root.Place()
	if err == nil {
		_, err = fsops.View{Session: s.Root.Session, User: at.User}.Stat(absolute)
	}
	httpx.WriteJSON(w, http.StatusOK, struct {
		Path   string `json:"path"`
		Exists bool   `json:"exists"`
	}{path, err == nil})
}
