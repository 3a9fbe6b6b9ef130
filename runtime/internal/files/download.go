package files

import (
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sandlot.dev/runtime/internal/fsops"
	"sandlot.dev/runtime/internal/httpx"
)

func (s *Service) download(w http.ResponseWriter, r *request) *httpx.Error {
	path, err := s.Session.Resolve(r.path, r.user)
	if err != nil {
		return httpx.Fail(http.StatusBadRequest, err.Error())
	}
	file, info, err := fsops.OpenRegular(s.Session, path, r.user)
	if errors.Is(err, syscall.ENOTDIR) {
		return httpx.Fail(http.StatusNotFound, "not found: "+err.Error())
	}
	if err != nil {
		return failureOf(err)
	}
	defer file.Close()
	encoding := negotiate(r.Header.Get("Accept-Encoding"))
	ranged := r.Header.Get("Range") != ""
	if encoding == "" || ranged && !accepts(r.Header.Get("Accept-Encoding"), "identity") {
		return httpx.Fail(http.StatusNotAcceptable, "the file can be sent as it is or with gzip, and Accept-Encoding refuses both")
	}
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	header.Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": filepath.Base(path)}))
	if header.Get("Content-Disposition") == "" {
		header.Set("Content-Disposition", "inline")
	}
	if info.Size() == 0 {
		return serveUnsized(w, r, file)
	}
	if encoding == "gzip" && !ranged {
		return serveGzip(w, r, file)
	}
	http.ServeContent(w, r.Request, filepath.Base(path), info.ModTime(), file)
	return nil
}

// serveUnsized serves files whose size is 0. Files in /proc and /sys report this size although they have content.
func serveUnsized(w http.ResponseWriter, r *request, file *os.File) *httpx.Error {
	content, err := io.ReadAll(io.LimitReader(file, 4<<20))
	if err != nil {
		return failureOf(err)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content)
	}
	return nil
}

func serveGzip(w http.ResponseWriter, r *request, file *os.File) *httpx.Error {
	info, err := file.Stat()
	if err != nil {
		return failureOf(err)
	}
	header := w.Header()
	header.Set("Content-Encoding", "gzip")
	header.Set("Content-Type", contentType(file.Name()))
	header.Set("Last-Modified", info.ModTime().UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return failureOf(err)
	}
	if _, err := io.Copy(zip, file); err != nil {
		// The response headers are sent already. Only a broken connection tells the client that content is missing.
		panic(http.ErrAbortHandler)
	}
	_ = zip.Close()
	return nil
}

func contentType(path string) string {
	if known := mime.TypeByExtension(filepath.Ext(path)); known != "" {
		return known
	}
	return "application/octet-stream"
}

// negotiate returns "gzip" if the client names it, else "identity"; "" if the client accepts neither.
func negotiate(header string) string {
	if isNamed(header, "gzip") && accepts(header, "gzip") {
		return "gzip"
	}
	if accepts(header, "identity") {
		return "identity"
	}
	if accepts(header, "gzip") {
		return "gzip"
	}
	return ""
}

func isNamed(header, coding string) bool {
	_, found := quality(header, coding)
	return found
}

// accepts implements Accept-Encoding: identity is acceptable unless the header excludes it by name or by `*`.
func accepts(header, coding string) bool {
	if value, found := quality(header, coding); found {
		return value > 0
	}
	if value, found := quality(header, "*"); found {
		return value > 0
	}
	return coding == "identity"
}

func quality(header, coding string) (float64, bool) {
	for item := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		text, weighted := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		if !weighted {
			return 1, true
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 1, true
		}
		return value, true
	}
	return 0, false
}
