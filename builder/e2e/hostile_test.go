package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// hostile is a registry that answers as a test says. It has one image with one layer, x:v1.
type hostile struct {
	*httptest.Server
	host string
	// routes are by path, before the good answers.
	routes   map[string]http.HandlerFunc
	manifest v1.Manifest
	config   []byte
	layer    []byte
}

func startHostile(t *testing.T, routes map[string]http.HandlerFunc) *hostile {
	t.Helper()
	h := &hostile{routes: routes, layer: []byte("the layer")}
	sum := func(data []byte) v1.Hash {
		return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(data))}
	}
	h.config = fmt.Appendf(nil, `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[%q]}}`, sum(h.layer))
	h.manifest = v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Size: int64(len(h.config)), Digest: sum(h.config)},
		Layers: []v1.Descriptor{{MediaType: types.OCILayer, Size: int64(len(h.layer)), Digest: sum(h.layer)}},
	}
	h.Server = httptest.NewServer(http.HandlerFunc(h.answer))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	h.host = strings.TrimPrefix(h.URL, "http://")
	return h
}

func (h *hostile) answer(writer http.ResponseWriter, request *http.Request) {
	for path, route := range h.routes {
		if strings.HasPrefix(request.URL.Path, path) {
			route(writer, request)
			return
		}
	}
	switch path := request.URL.Path; {
	case path == "/v2/":
	case strings.HasPrefix(path, "/v2/x/manifests/"):
		h.sendManifest(writer)
	case strings.HasSuffix(path, h.manifest.Config.Digest.String()):
		_, _ = writer.Write(h.config)
	case strings.HasPrefix(path, "/v2/x/blobs/"):
		_, _ = writer.Write(h.layer)
	default:
		http.NotFound(writer, request)
	}
}

func (h *hostile) sendManifest(writer http.ResponseWriter) {
	text, _ := json.Marshal(h.manifest)
	writer.Header().Set("Content-Type", string(h.manifest.MediaType))
	_, _ = writer.Write(text)
}

func redirect(target string) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		http.Redirect(writer, request, target, http.StatusFound)
	}
}

func endless(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("Content-Type", string(types.OCIManifestSchema1))
	for chunk := bytes.Repeat([]byte(" "), 1<<16); ; {
		if _, err := writer.Write(chunk); err != nil {
			return
		}
	}
}

func stalled(writer http.ResponseWriter, request *http.Request) {
	_, _ = io.WriteString(writer, "{")
	writer.(http.Flusher).Flush()
	<-request.Context().Done()
}

// compose builds on the image of the hostile registry.
func (p *plane) compose(h *hostile) answer {
	return p.ask("POST", "/v1/images", object{"base": object{"image": h.host + "/x:v1"}, "target": "team/app:v1"})
}

func TestARegistryThatMeansHarm(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, append(own.settings(t), "-idle=500ms", "-image-bytes=1000000")...)
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(writer, `{"token":"x"}`)
	}))
	t.Cleanup(inside.Close)
	// Names of loopback that the policy of the test does not open.
	closed := strings.Replace(inside.URL, "127.0.0.1", "[::ffff:7f00:1]", 1)
	metadata := "http://169.254.169.254/latest"
	const unreachable, large = "unreachable: the registry of image '%s' cannot be used at the moment", "too_large: image '%s' is too large"
	const unsupported = "unsupported: image '%s' "
	for name, row := range map[string]struct {
		routes map[string]http.HandlerFunc
		change func(*hostile)
		want   string
	}{
		"leads to the metadata service": {map[string]http.HandlerFunc{"/v2/x/manifests/": redirect(metadata)}, nil, unreachable},
		"leads a blob there":            {map[string]http.HandlerFunc{"/v2/x/blobs/": redirect(metadata)}, nil, unreachable},
		"leads in a circle":             {map[string]http.HandlerFunc{"/v2/x/manifests/": redirect("/v2/x/manifests/v1")}, nil, large},
		"has a token server inside": {map[string]http.HandlerFunc{"/v2/": func(writer http.ResponseWriter, _ *http.Request) {
			writer.Header().Set("WWW-Authenticate", `Bearer realm="`+metadata+`",service="x"`)
			writer.WriteHeader(http.StatusUnauthorized)
		}}, nil, unreachable},
		"sends a manifest without end": {map[string]http.HandlerFunc{"/v2/x/manifests/": endless}, nil, large},
		"stands still":                 {map[string]http.HandlerFunc{"/v2/x/manifests/": stalled}, nil, unreachable},
		"stands still in a layer": {nil, func(h *hostile) {
			h.routes = map[string]http.HandlerFunc{"/v2/x/blobs/" + h.manifest.Layers[0].Digest.String(): stalled}
		}, unreachable},
		"sends another configuration": {nil, func(h *hostile) { h.config = bytes.Replace(h.config, []byte("linux"), []byte("linuy"), 1) }, unreachable},
		"sends another layer":         {nil, func(h *hostile) { h.layer = []byte("the liver") }, unreachable},
		"sends a longer layer":        {nil, func(h *hostile) { h.layer = []byte("the layer and more") }, large},
		"sends a shorter layer":       {nil, func(h *hostile) { h.layer = []byte("the") }, unreachable},
		"says a huge size":            {nil, func(h *hostile) { h.manifest.Layers[0].Size = 1 << 62 }, "too_large: image '%s' is too large: this installation allows 1000000 bytes"},
		"says a size below nothing":   {nil, func(h *hostile) { h.manifest.Layers[0].Size = -1 }, unsupported + "has a layer of a kind that is not supported"},
		"says a huge configuration": {nil, func(h *hostile) { h.manifest.Config.Size = 1 << 40 },
			"too_large: image '%s' is too large: more than 100 layers, or a configuration of more than 4194304 bytes"},
		"has a layer elsewhere": {nil, func(h *hostile) {
			h.manifest.Layers[0].MediaType, h.manifest.Layers[0].URLs = types.DockerForeignLayer, []string{inside.URL}
		}, unsupported + "has a layer of a kind that is not supported"},
		"has more layers in one of two": {nil, func(h *hostile) { h.manifest.Layers = append(h.manifest.Layers, h.manifest.Layers[0]) },
			unsupported + "contradicts itself: its configuration has other layers than its manifest"},
		"has no image": {nil, func(h *hostile) { h.manifest.Config.MediaType = "application/x" }, unsupported + "is no image of a container"},
		"answers nonsense": {map[string]http.HandlerFunc{"/v2/x/manifests/": func(writer http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(writer, "<html>") }}, nil,
			unsupported + "has a manifest of a kind that is not supported"},
		"fails": {map[string]http.HandlerFunc{"/v2/x/manifests/": func(writer http.ResponseWriter, _ *http.Request) { http.Error(writer, "secret of mine", 500) }}, nil, unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostile(t, row.routes)
			if row.change != nil {
				row.change(h)
			}
			want := row.want
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, h.host+"/x:v1")
			}
			expect(t, "the answer", p.compose(h).String(), want)
			expect(t, "the tag", fmt.Sprint(p.ask("HEAD", "/v1/tags?reference=team/app:v1", nil).status), "404")
		})
	}
	h := startHostile(t, map[string]http.HandlerFunc{"/v2/x/manifests/": redirect(closed)})
	if got := p.compose(h).String(); strings.HasPrefix(got, "200") || asked.Load() > 0 {
		t.Errorf("an address in another form was dialled: %s", got)
	}
	p.compose(startHostile(t, nil)).read(t, &object{})
}

// A registry whose name leads to a closed address is refused, and counted.
func TestDialsNoClosedAddress(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	args := own.settings(t)
	p := startPlane(t, append(args, "-private-addresses=10.9.0.0/16", "-tenant-registries=*")...)
	h := startHostile(t, nil)
	_, port, err := net.SplitHostPort(h.host)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{h.host, "localhost:" + port, "[::ffff:127.0.0.1]:" + port} {
		image := host + "/x:v1"
		got := p.resolve(image).String()
		if want := "not_allowed: image '" + image + "' is not allowed: its registry leads to an address that this installation closes to builds"; got != want && host[0] != '[' {
			t.Errorf("%s: %s", host, got)
		}
		if strings.HasPrefix(got, "200") {
			t.Errorf("%s was dialled", host)
		}
	}
	text := p.metrics()
	for _, line := range []string{`sandlot_image_operations_total{operation="resolve",result="not_allowed"} `, `sandlot_image_open_operations 0`} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(text, "sandlot_image_refused_dials_total 0\n") {
		t.Error("no refused dial was counted")
	}
}

// What a registry compresses on the way is not unpacked: a manifest of a few bytes cannot become large.
func TestUnpacksNoAnswer(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, own.settings(t)...)
	var bomb bytes.Buffer
	writer := gzip.NewWriter(&bomb)
	_, _ = writer.Write(bytes.Repeat([]byte(" "), 3<<20))
	_ = writer.Close()
	h := startHostile(t, map[string]http.HandlerFunc{"/v2/x/manifests/": func(writer http.ResponseWriter, request *http.Request) {
		if strings.Contains(request.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("it asks for a compressed answer")
		}
		writer.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		writer.Header().Set("Content-Encoding", "gzip")
		_, _ = writer.Write(bomb.Bytes())
	}})
	if got := p.resolve(h.host + "/x:v1").String(); !strings.HasPrefix(got, "unreachable: ") {
		t.Errorf("it says %s", got)
	}
}

// As many operations run as may. One more is refused, and the end waits for those that run.
func TestEndsWhenItsOperationsHaveEnded(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, append(own.settings(t), "-operations=1")...)
	reader, writer := io.Pipe()
	ended := make(chan answer, 1)
	go func() {
		got, err := p.send("PUT", "/v1/layers?repository=team/app", reader)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	if _, err := io.WriteString(writer, "begin"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the operation runs", func() bool { return strings.Contains(p.metrics(), "sandlot_image_open_operations 1\n") })
	expect(t, "one more", p.resolve("x").String(), "busy: 1 operations run, which is the most")
	p.stop()
	eventually(t, "the plane ends", func() bool {
		response, err := http.Get(p.admin + "/readyz")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusServiceUnavailable
	})
	if _, err := io.WriteString(writer, " and end"); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	got := <-ended
	var layer object
	got.read(t, &layer)
	expect(t, "the layer", fmt.Sprint(layer["diffID"]), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("begin and end"))))
}
