package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sandlot.dev/node/internal/s3test"
	"sandlot.dev/node/internal/store"
)

const (
	oneUID   = "0f8fad5b-d9cb-469f-a165-70867728950e"
	otherUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	patience = 30 * time.Second
)

var (
	one   = store.Key{Namespace: "team", UID: oneUID}
	other = store.Key{Namespace: "team", UID: otherUID}
	rival = store.Key{Namespace: "rival", UID: oneUID}
)

// orderVariable makes the test's program an agent that transfers once.
const orderVariable = "SANDLOT_TEST_REMOTE"

func TestMain(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		if err := obey(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	s3test.Stop()
	os.Exit(code)
}

// order is what an agent in a process of its own does: it downloads if there is a digest.
type order struct {
	Store    string
	Settings Settings
	Digest   string
}

func obey(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s, err := store.Open(o.Store, store.Options{})
	if err != nil {
		return err
	}
	r, err := New(Options{Settings: o.Settings, Store: s, MostTransfers: 1})
	if err != nil {
		return err
	}
	if o.Digest != "" {
		_, err = r.Download(context.Background(), one, o.Digest)
		return err
	}
	_, err = r.Upload(context.Background(), one)
	return err
}

func (o order) command(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	return cmd
}

func waitFor(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !isTrue(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s", what)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keys are lines of a key file.
var keys = map[string]string{
	"first":  "first MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=\n",
	"second": "second MTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTE=\n",
}

// settings are those of a bucket that no other test uses.
func settings(t *testing.T) Settings {
	t.Helper()
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "credentials", accessFile), s3test.AccessKey+"\n")
	writeFile(t, filepath.Join(folder, "credentials", secretFile), s3test.SecretKey+"\n")
	writeFile(t, filepath.Join(folder, "keys"), keys["first"])
	return Settings{
		Endpoint: s3test.Start(t), Region: s3test.Region, Bucket: s3test.Bucket, Prefix: strings.ReplaceAll(t.Name(), "/", "-"), PathStyle: true,
		Credentials: filepath.Join(folder, "credentials"), Keys: filepath.Join(folder, "keys"), Limit: patience,
	}
}

// node is a node with an agent.
type node struct {
	*Remote
	t    *testing.T
	root string
}

func newNode(t *testing.T, settings Settings) *node {
	t.Helper()
	root := t.TempDir()
	return openNode(t, settings, root)
}

func openNode(t *testing.T, settings Settings, root string) *node {
	t.Helper()
	s, err := store.Open(root, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Settings: settings, Store: s, MostTransfers: 2})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{r, t, root}
	t.Cleanup(n.stop)
	return n
}

func (n *node) stop() {
	n.Close()
	n.Store.Close()
}

// save makes a snapshot of these files.
func (n *node) save(key store.Key, files map[string]string) {
	n.t.Helper()
	draft, err := n.Store.Begin(key, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	for name, content := range files {
		writeFile(n.t, filepath.Join(draft.Path(), name), content)
	}
	if _, err := draft.Finish(n.t.Context(), store.Manifest{Source: store.Source{SandboxName: "analyst"}, Mode: "Snapshot", SavedAt: time.Unix(1, 0).UTC()}); err != nil {
		n.t.Fatal(err)
	}
}

// small is a snapshot of two files; large has several chunks, and a file without content.
func small(content string) map[string]string {
	return map[string]string{"checkpoint.img": "kernel of " + content, "pages.img": "memory of " + content}
}

func large(content string) map[string]string {
	pages := strings.Repeat(content+" ", 2*store.ChunkBytes/(len(content)+1)+1)
	return map[string]string{"checkpoint.img": "kernel of " + content, "pages.img": pages, "pages_meta.img": ""}
}

func (n *node) mustUpload(key store.Key) Uploaded {
	n.t.Helper()
	u, err := n.Upload(n.t.Context(), key)
	if err != nil {
		n.t.Fatal(err)
	}
	return u
}

// expectWhole compares the files of a snapshot.
func (n *node) expectWhole(key store.Key, files map[string]string) {
	n.t.Helper()
	if _, err := n.Store.Verify(n.t.Context(), key); err != nil {
		n.t.Error(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(n.Store.Path(key), name)); err != nil || string(got) != want {
			n.t.Errorf("%s has %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
}

// expectNothing fails the test if the node has a snapshot, or something that would become one.
func (n *node) expectNothing() {
	n.t.Helper()
	left, err := filepath.Glob(filepath.Join(n.root, "*", "*"))
	hidden, hiddenErr := filepath.Glob(filepath.Join(n.root, "*", ".*"))
	if err != nil || hiddenErr != nil || len(left)+len(hidden) != 0 {
		n.t.Errorf("left: %v %v", left, hidden)
	}
}

// attacker can do everything with the bucket.
type attacker struct {
	t      *testing.T
	client *s3.Client
	prefix string
}

func newAttacker(t *testing.T, s Settings) *attacker {
	t.Helper()
	return &attacker{t, s3test.Client(s3test.Start(t)), s.Prefix + "/"}
}

// read returns all objects by their names without the prefix.
func (a *attacker) read() map[string][]byte {
	a.t.Helper()
	objects := map[string][]byte{}
	pages := s3.NewListObjectsV2Paginator(a.client, &s3.ListObjectsV2Input{Bucket: aws.String(s3test.Bucket), Prefix: &a.prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		for _, object := range page.Contents {
			got, err := a.client.GetObject(a.t.Context(), &s3.GetObjectInput{Bucket: aws.String(s3test.Bucket), Key: object.Key})
			if err != nil {
				a.t.Fatal(err)
			}
			content, err := io.ReadAll(got.Body)
			if err := errors.Join(err, got.Body.Close()); err != nil {
				a.t.Fatal(err)
			}
			objects[strings.TrimPrefix(*object.Key, a.prefix)] = content
		}
	}
	return objects
}

// replace makes the bucket have these objects instead of those.
func (a *attacker) replace(have, want map[string][]byte) {
	a.t.Helper()
	for name := range have {
		if _, isKept := want[name]; !isKept {
			if _, err := a.client.DeleteObject(a.t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(s3test.Bucket), Key: aws.String(a.prefix + name)}); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	for name, content := range want {
		if old, isThere := have[name]; isThere && bytes.Equal(old, content) {
			continue
		}
		if _, err := a.client.PutObject(a.t.Context(), &s3.PutObjectInput{Bucket: aws.String(s3test.Bucket), Key: aws.String(a.prefix + name), Body: bytes.NewReader(content)}); err != nil {
			a.t.Fatal(err)
		}
	}
}

// chunksOf returns the names of the chunks of a snapshot, in their order.
func chunksOf(objects map[string][]byte, key store.Key) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if strings.HasPrefix(name, folderOf(key)+"/") && !strings.HasSuffix(name, "/"+manifestObject) {
			names = append(names, name)
		}
	}
	return names
}

func manifestOf(key store.Key) string { return folderOf(key) + "/" + manifestObject }
