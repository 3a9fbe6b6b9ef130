// Command registry is a container registry on a folder: `registry ADDRESS[,ADDRESS] FOLDER`. Blobs are files already with
// go-containerregistry's handler, which keeps manifests in memory only; accepted manifests are therefore written
// down here and put again, in their first order, at the next start. One that is deleted by digest goes with its tags.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

const maxManifestBytes = 8 << 20

type manifest struct {
	Path        string    `json:"path"`
	ContentType string    `json:"contentType"`
	Body        []byte    `json:"body"`
	AcceptedAt  time.Time `json:"acceptedAt"`
}

type server struct {
	next http.Handler
	dir  string
	// writes keeps the order on disk the order of acceptance: an index is refused before its children are known.
	writes sync.Mutex
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: registry ADDRESS[,ADDRESS] FOLDER")
	}
	addresses, folder := strings.Split(os.Args[1], ","), os.Args[2]
	blobs := filepath.Join(folder, "blobs")
	s := &server{dir: filepath.Join(folder, "manifests")}
	for _, dir := range []string{blobs, s.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			log.Fatal(err)
		}
	}
	s.next = registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs)))
	if err := s.restore(); err != nil {
		log.Fatal(err)
	}
	failed := make(chan error)
	for _, address := range addresses {
		log.Printf("serving %s on %s", folder, address)
		httpServer := &http.Server{Addr: address, Handler: s, ReadHeaderTimeout: 10 * time.Second}
		go func() { failed <- httpServer.ListenAndServe() }()
	}
	log.Fatal(<-failed)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isManifest := strings.Contains(r.URL.Path, "/manifests/")
	if isManifest && r.Method == http.MethodDelete {
		s.remove(w, r.URL.Path)
		return
	}
	if !isManifest || r.Method != http.MethodPut {
		s.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxManifestBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	m := manifest{Path: r.URL.Path, ContentType: r.Header.Get("Content-Type"), Body: body, AcceptedAt: time.Now()}
	answer := s.put(m)
	if answer.Code < 300 {
		if err := s.save(m); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	relay(w, answer)
}

func relay(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// remove deletes a manifest, and with a digest the tags that lead to it, which the handler would keep.
func (s *server) remove(w http.ResponseWriter, path string) {
	s.writes.Lock()
	defer s.writes.Unlock()
	answer := s.forward(httptest.NewRequest(http.MethodDelete, path, nil))
	if answer.Code < 300 {
		if err := s.forget(path); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	relay(w, answer)
}

func (s *server) forget(path string) error {
	manifests, err := s.saved()
	if err != nil {
		return err
	}
	repository, digest, _ := strings.Cut(path, "/manifests/")
	for _, m := range manifests {
		sum := sha256.Sum256(m.Body)
		isTag := strings.HasPrefix(m.Path, repository+"/manifests/") && digest == "sha256:"+hex.EncodeToString(sum[:])
		if m.Path != path && !isTag {
			continue
		}
		s.forward(httptest.NewRequest(http.MethodDelete, m.Path, nil))
		if err := os.Remove(s.file(m.Path)); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) put(m manifest) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPut, m.Path, bytes.NewReader(m.Body))
	r.Header.Set("Content-Type", m.ContentType)
	return s.forward(r)
}

func (s *server) forward(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	s.next.ServeHTTP(answer, r)
	return answer
}

func (s *server) file(path string) string {
	name := sha256.Sum256([]byte(path))
	return filepath.Join(s.dir, hex.EncodeToString(name[:])+".json")
}

func (s *server) save(m manifest) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := s.file(m.Path)
	if err := os.WriteFile(path+".tmp", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (s *server) saved() ([]manifest, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var manifests []manifest
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var m manifest
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		manifests = append(manifests, m)
	}
	return manifests, nil
}

func (s *server) restore() error {
	manifests, err := s.saved()
	if err != nil {
		return err
	}
	slices.SortFunc(manifests, func(a, b manifest) int { return a.AcceptedAt.Compare(b.AcceptedAt) })
	for _, m := range manifests {
		if answer := s.put(m); answer.Code >= 300 {
			log.Printf("not restored: %s: %s", m.Path, strings.TrimSpace(answer.Body.String()))
		}
	}
	return nil
}
