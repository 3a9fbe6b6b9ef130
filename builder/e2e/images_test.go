package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

type described struct {
	Digest string
	Size   int64
	Layers []object
	Config struct {
		Env             []string
		User, Workdir   string
		Entrypoint, Cmd []string
		Labels          map[string]string
	}
}

// layerWith is a tar with one file.
func layerWith(t *testing.T, name, content string) string {
	t.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	if err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(writer, content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (p *plane) pushLayer(repository, text string) object {
	p.t.Helper()
	var layer object
	p.ask("PUT", "/v1/layers?repository="+repository, text).read(p.t, &layer)
	return layer
}

func TestResolvesTheVariantOfTheNodes(t *testing.T) {
	own, theirs := startRegistry(t, registryOptions{}), startRegistry(t, registryOptions{isOpen: true})
	p := startPlane(t, own.settings(t)...)
	image := newImage(t, "amd64", 3)
	if err := remote.WriteIndex(theirs.reference(t, "team/app:v1"), newIndex(t, newImage(t, "arm64", 1), image)); err != nil {
		t.Fatal(err)
	}
	theirs.push(t, "team/arm:v1", newImage(t, "arm64", 1))
	var found described
	p.resolve(theirs.host+"/team/app:v1").read(t, &found)
	digest, err := image.Digest()
	if err != nil || found.Digest != digest.String() || len(found.Layers) != 3 || found.Size < 30_000 {
		t.Errorf("it found %+v, want %s (%v)", found, digest, err)
	}
	expect(t, "the configuration", fmt.Sprint(found.Config), "{[PATH=/bin KEPT=1] base /base [/entry] [run] map[base:yes]}")
	for image, want := range map[string]string{
		theirs.host + "/team/app:v2":    "not_found: image '%s' not found: the image or tag does not exist in the registry",
		theirs.host + "/team/none":      "not_found: image '%s' not found: the image or tag does not exist in the registry",
		theirs.host + "/team/arm:v1":    "not_found: image '%s' not found: it has no variant for linux/amd64",
		own.host + "/builds/app:v1":     "not_allowed: fromImage '%s' is not allowed: registries are limited to 127.0.0.1:*, localhost:*",
		"ghcr.io/team/app":              "not_allowed: fromImage '%s' is not allowed: registries are limited to 127.0.0.1:*, localhost:*",
		theirs.host + "/team/../x":      "bad_reference: '%s' is no reference of an image",
		"https://" + theirs.host + "/x": "bad_reference: '%s' is no reference of an image",
		"":                              "bad_reference: '%s' is no reference of an image",
		freeAddress(t) + "/x":           "unreachable: the registry of image '%s' cannot be used at the moment",
	} {
		expect(t, image, p.resolve(image).String(), fmt.Sprintf(want, image))
	}
}

func TestSignsInAtTheRegistryOfABase(t *testing.T) {
	own, theirs := startRegistry(t, registryOptions{}), startRegistry(t, registryOptions{})
	p := startPlane(t, own.settings(t)...)
	theirs.push(t, "team/app:v1", newImage(t, "amd64", 1))
	image := theirs.host + "/team/app:v1"
	denied := "denied: access denied to '" + image + "': authentication required or insufficient permissions"
	expect(t, "without credentials", p.resolve(image).String(), denied)
	ask := func(credentials object) answer {
		return p.ask("POST", "/v1/resolve", object{"image": image, "credentials": credentials})
	}
	expect(t, "with wrong ones", ask(object{"type": "registry", "username": operator, "password": "wrong-secret"}).String(), denied)
	expect(t, "as a Google account", ask(object{"type": "gcp", "serviceAccountJson": `{"key":"wrong-secret"}`}).String(), denied)
	ask(object{"type": "registry", "username": operator, "password": password}).read(t, &described{})
	for name, bad := range map[string]object{
		"of no type": {"username": "a", "password": "wrong-secret"}, "without a field": {"type": "registry", "password": "wrong-secret"},
		"of a region that is a host": {"type": "aws", "awsAccessKeyId": "a", "awsSecretAccessKey": "wrong-secret", "awsRegion": "x.test/"},
	} {
		expect(t, name, ask(bad).String(), "bad_request: the body is no JSON of this request")
	}
	for _, hidden := range []string{"wrong-secret", password} {
		if strings.Contains(p.log.String(), hidden) {
			t.Errorf("the log has %q", hidden)
		}
	}
}

func TestPutsAnImageTogether(t *testing.T) {
	for kind, layerKind := range map[types.MediaType]types.MediaType{types.DockerManifestSchema2: types.DockerLayer, types.OCIManifestSchema1: types.OCILayer} {
		t.Run(string(kind), func(t *testing.T) {
			own, theirs := startRegistry(t, registryOptions{}), startRegistry(t, registryOptions{isOpen: true})
			p := startPlane(t, own.settings(t)...)
			base := mutate.MediaType(newImage(t, "amd64", 2), kind)
			theirs.push(t, "base:v1", base)
			first, second := p.pushLayer("team/app", layerWith(t, "a", "first")), p.pushLayer("team/app", layerWith(t, "b", "second"))
			var made struct {
				Digest string
				Size   int64
			}
			p.ask("POST", "/v1/images", object{
				"base": object{"image": theirs.host + "/base:v1"}, "target": "team/app:new", "layers": []object{first, second},
				"changes": object{"user": "user", "workdir": "/home/user", "env": object{"KEPT": "2", "ADDED": "a=b"}, "labels": object{"mine": "1"}},
				"history": []object{{"createdBy": "RUN one"}, {"createdBy": "ENV x", "empty": true}, {"createdBy": "RUN two"}},
			}).read(t, &made)
			image := own.pull(t, "builds/team/app:new")
			check(t, image, made.Digest)
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "the configuration", fmt.Sprint(config.Config.User, config.Config.WorkingDir, config.Config.Env, config.Config.Entrypoint, config.Config.Labels),
				"user/home/user[PATH=/bin ADDED=a=b KEPT=2] [/entry] map[base:yes mine:1]")
			var found described
			p.ask("GET", "/v1/tags?reference=team/app:new", nil).read(t, &found)
			if found.Digest != made.Digest || len(found.Layers) != 4 || found.Layers[2]["diffID"] != first["diffID"] || found.Size != made.Size {
				t.Errorf("it found %+v, made %+v", found, made)
			}
			expect(t, "the kind of a new layer", fmt.Sprint(found.Layers[3]["mediaType"]), string(layerKind))
			expect(t, "HEAD", fmt.Sprint(p.ask("HEAD", "/v1/tags?reference=team/app:new", nil).status, p.ask("HEAD", "/v1/tags?reference=team/app:none", nil).status), "200 404")
		})
	}
}

// check reads all of an image: every digest has to be right, and the layers of the build on top.
func check(t *testing.T, image v1.Image, digest string) {
	t.Helper()
	got, err := image.Digest()
	if err != nil || got.String() != digest {
		t.Errorf("the digest is %s, want %s (%v)", got, digest, err)
	}
	var names []string
	for reader := tar.NewReader(mutate.Extract(image)); ; {
		header, err := reader.Next()
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			break
		}
		names = append(names, header.Name)
	}
	if !slices.Contains(names, "a") || !slices.Contains(names, "b") || len(names) < 4 {
		t.Errorf("the image has %q", names)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		// The readers compare the digest, and that of the tar in it.
		body, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, body); err != nil {
			t.Error(err)
		}
		if diffID, err := layer.DiffID(); err != nil || diffID.Hex != fmt.Sprintf("%x", hash.Sum(nil)) {
			t.Errorf("the layer is of %x, and the configuration says %s (%v)", hash.Sum(nil), diffID, err)
		}
	}
}

func TestBuildsOnAnImageOfItsOwn(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, own.settings(t)...)
	own.push(t, "builds/team/parent:v1", newImage(t, "amd64", 3))
	parent := object{"image": own.host + "/builds/team/parent:v1"}
	expect(t, "a tenant that names it", p.ask("POST", "/v1/images", object{"base": parent, "target": "team/child:v1"}).String(),
		"not_allowed: fromImage '"+own.host+"/builds/team/parent:v1' is not allowed: registries are limited to 127.0.0.1:*, localhost:*")
	parent["trusted"] = true
	p.ask("POST", "/v1/images", object{"base": parent, "target": "team/child:v1"}).read(t, &object{})
	if _, err := io.Copy(io.Discard, mutate.Extract(own.pull(t, "builds/team/child:v1"))); err != nil {
		t.Error(err)
	}
}

func TestMovesTagsAndDeletesThem(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, own.settings(t)...)
	first, second := own.push(t, "builds/team/app:v1", newImage(t, "amd64", 1)), own.push(t, "builds/team/app:v2", newImage(t, "amd64", 1))
	digestOf := func(reference string) string {
		var found described
		p.ask("GET", "/v1/tags?reference="+reference, nil).read(t, &found)
		return found.Digest
	}
	expect(t, "a move", p.ask("PUT", "/v1/tags", object{"reference": "team/app:v2", "digest": first.String()}).String(), "204 ")
	expect(t, "the tag", digestOf("team/app:v2"), first.String())
	expect(t, "the image without a tag", digestOf("team/app@"+second.String()), second.String())
	absent := strings.Replace(first.String(), first.Hex[:4], "0000", 1)
	expect(t, "a move to nothing", p.ask("PUT", "/v1/tags", object{"reference": "team/app:v2", "digest": absent}).String(),
		"not_found: 'builds/team/app@"+absent+"' is not in the registry of this installation")
	remove := func(reference string) string { return p.ask("DELETE", "/v1/images?reference="+reference, nil).String() }
	expect(t, "a tag that goes", remove("team/app:v2"), "200 {\"deleted\":true,\"kept\":false}\n")
	expect(t, "the other tag", digestOf("team/app:v1"), first.String())
	expect(t, "an image that goes", remove("team/app@"+first.String()), "200 {\"deleted\":true,\"kept\":false}\n")
	expect(t, "an image that is gone", remove("team/app@"+first.String()), "200 {\"deleted\":false,\"kept\":false}\n")
	for _, bad := range []string{"team/app", "team/../x:v1", "Team:v1", "team/app@sha256:1", ":v1", "team/app:v1:v2"} {
		if got := remove(bad); !strings.HasPrefix(got, "bad_reference: ") {
			t.Errorf("%q: %s", bad, got)
		}
	}
	keeper := startRegistry(t, registryOptions{keeps: true})
	digest := keeper.push(t, "builds/team/app:v1", newImage(t, "amd64", 1))
	expect(t, "a registry that keeps", startPlane(t, keeper.settings(t)...).ask("DELETE", "/v1/images?reference=team/app@"+digest.String(), nil).String(),
		"200 {\"deleted\":false,\"kept\":true}\n")
}

func TestListsTagsOfARepository(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, own.settings(t)...)
	list := func(repository string) string {
		return p.ask("GET", "/v1/tags/all?repository="+repository, nil).String()
	}
	expect(t, "a repository that does not exist", list("team/app"), "200 {\"tags\":[],\"whole\":true}\n")
	digest := own.push(t, "builds/team/app:v1", newImage(t, "amd64", 1))
	own.push(t, "builds/team/app:v2", newImage(t, "amd64", 1))
	own.push(t, "builds/team/application:v3", newImage(t, "amd64", 1))
	own.push(t, "other/team/app:v4", newImage(t, "amd64", 1))
	expect(t, "its tags alone", list("team/app"), "200 {\"tags\":[\"v1\",\"v2\"],\"whole\":true}\n")
	p.ask("DELETE", "/v1/images?reference=team/app@"+digest.String(), nil)
	expect(t, "without an image that went", list("team/app"), "200 {\"tags\":[\"v2\"],\"whole\":true}\n")
	for _, bad := range []string{"", "team/../app", "Team", "../other/team/app", "team/app:v1"} {
		if got := list(bad); !strings.HasPrefix(got, "bad_reference: ") {
			t.Errorf("%q: %s", bad, got)
		}
	}
}

func TestListsNoMoreTagsThanItMay(t *testing.T) {
	registry := newHostileTags(t)
	p := startPlane(t, append([]string{"-registry=" + registry + "/builds"}, local...)...)
	var list struct {
		Tags  []string
		Whole bool
	}
	p.ask("GET", "/v1/tags/all?repository=team/app", nil).read(t, &list)
	if len(list.Tags) != 20_000 || list.Whole {
		t.Errorf("%d tags, whole: %v", len(list.Tags), list.Whole)
	}
}

// newHostileTags starts a registry whose list of tags has no end.
func newHostileTags(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/tags/list") {
			writer.Header().Set("Link", "<"+request.URL.Path+"?last=x>; rel=\"next\"")
			_, _ = fmt.Fprintf(writer, `{"name":"app","tags":["x"%s]}`, strings.Repeat(`,"x"`, 999))
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestKeepsBuildFiles(t *testing.T) {
	own := startRegistry(t, registryOptions{})
	p := startPlane(t, append(own.settings(t), "-file-bytes=3000000")...)
	key := strings.Repeat("ab", 32)
	path := "/v1/files?repository=team/files&key=" + key
	expect(t, "before", p.ask("GET", path, nil).String(), "not_found: 'f-"+key+"' is not in the registry of this installation")
	random := make([]byte, 2_000_000)
	_, _ = rand.Read(random)
	for _, content := range []string{string(random), "second", ""} {
		p.ask("PUT", path, content).read(t, &object{})
		got := p.ask("GET", path, nil)
		if got.status != 200 || got.body != content {
			t.Errorf("it gave back %d %d bytes, want %d", got.status, len(got.body), len(content))
		}
		head := p.ask("HEAD", path, nil)
		expect(t, "HEAD", fmt.Sprintf("%d %s", head.status, head.header.Get("Content-Length")), fmt.Sprintf("200 %d", len(content)))
	}
	expect(t, "too many bytes", p.ask("PUT", path, strings.Repeat("x", 3_000_001)).String(), "too_large: the archive of build files is too large")
	expect(t, "the archive after it", p.ask("GET", path, nil).String(), "200 ")
	expect(t, "a bad key", p.ask("PUT", "/v1/files?repository=team/files&key=../x", "").String(), "bad_request: a key has 64 lower-case hexadecimal digits")
	// A client that goes away in the middle leaves nothing.
	gone := strings.Repeat("cd", 32)
	if _, err := p.send("PUT", "/v1/files?repository=team/files&key="+gone, io.MultiReader(strings.NewReader("half"), broken{})); err == nil {
		t.Error("the client sent all of it")
	}
	eventually(t, "the upload has ended", func() bool { return strings.Contains(p.log.String(), `"reason":"client_gone"`) })
	expect(t, "half an archive", fmt.Sprint(p.ask("HEAD", "/v1/files?repository=team/files&key="+gone, nil).status), "404")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("the client ends") }

func TestRefusesLayersThatAreNone(t *testing.T) {
	own, theirs := startRegistry(t, registryOptions{}), startRegistry(t, registryOptions{isOpen: true})
	p := startPlane(t, append(own.settings(t), "-layer-bytes=5000")...)
	theirs.push(t, "base:v1", newImage(t, "amd64", 1))
	expect(t, "a layer that is too large", p.ask("PUT", "/v1/layers?repository=team/app", strings.Repeat("x", 5001)).String(), "too_large: the layer is too large")
	layer := p.pushLayer("team/app", strings.Repeat("x", 5000))
	compose := func(target string, layers []object, history []object) string {
		return p.ask("POST", "/v1/images", object{"base": object{"image": theirs.host + "/base:v1"}, "target": target, "layers": layers, "history": history}).String()
	}
	step := []object{{"createdBy": "RUN x"}}
	expect(t, "a layer of another repository", compose("other/app:v1", []object{layer}, step),
		fmt.Sprintf("not_found: layer %s is not in 'builds/other/app'", layer["digest"]))
	expect(t, "the tag of it", fmt.Sprint(p.ask("HEAD", "/v1/tags?reference=other/app:v1", nil).status), "404")
	expect(t, "a history of something else", compose("team/app:v1", []object{layer}, nil),
		"bad_request: the history has 0 steps with a layer, and the image 1 layers")
	expect(t, "a digest that is none", compose("team/app:v1", []object{{"digest": "x", "diffID": "y", "size": 1}}, step), "bad_request: 'x' is no digest")
	expect(t, "an unknown field", p.ask("POST", "/v1/images", object{"bases": 1}).String(), "bad_request: the body is no JSON of this request")
}
