package shimtest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"runtime"
	"testing"
)

// image is the only one: busybox. As a pause container it sleeps.
const image = "shim.test/busybox:1"

const (
	layerType    = "application/vnd.oci.image.layer.v1.tar"
	configType   = "application/vnd.oci.image.config.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
)

// serveImage starts a registry that has the image.
func serveImage(t *testing.T) string {
	t.Helper()
	layer := busyboxLayer(t)
	config := encode(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/bin/busybox", "sleep", "1000000"}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	manifest := encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": map[string]any{"mediaType": configType, "digest": digest(config), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": layerType, "digest": digest(layer), "size": len(layer)}},
	})
	blobs := map[string][]byte{digest(layer): layer, digest(config): config, digest(manifest): manifest, "1": manifest}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		blob, found := blobs[path.Base(r.URL.Path)]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", digest(blob))
		w.Header().Set("Content-Length", fmt.Sprint(len(blob)))
		_, _ = w.Write(blob)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func busyboxLayer(t *testing.T) []byte {
	t.Helper()
	found, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("install a static busybox (apt-get install busybox-static): %v", err)
	}
	program, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	for _, name := range []string{"bin/", "tmp/"} {
		must(t, archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	must(t, archive.WriteHeader(&tar.Header{Name: "bin/busybox", Mode: 0o755, Size: int64(len(program))}))
	_, err = archive.Write(program)
	must(t, err)
	must(t, archive.WriteHeader(&tar.Header{Name: "bin/sh", Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o755}))
	must(t, archive.Close())
	return layer.Bytes()
}

func digest(blob []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(blob))
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	must(t, err)
	return text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
