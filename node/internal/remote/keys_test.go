package remote

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sandlot.dev/node/internal/store"
)

func ringOf(t *testing.T, text string) keyRing {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	writeFile(t, path, text)
	ring, err := readKeyRing(path)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func manifest(key store.Key, checksum string) store.Manifest {
	return store.Manifest{Version: 1, Key: key, Files: []store.File{{Name: "pages.img", Bytes: 3, Checksum: checksum}}, Bytes: 3}
}

func TestKeyOfOneNamespaceOpensNothingOfAnother(t *testing.T) {
	ring := ringOf(t, keys["first"])
	text, err := sealManifest(ring, manifest(one, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := openManifest(ring, one, text); err != nil {
		t.Fatal(err)
	}
	for _, key := range []store.Key{rival, other} {
		var refused *RefusedError
		if _, _, err := openManifest(ring, key, text); !errors.As(err, &refused) {
			t.Errorf("%+v opens it: %v", key, err)
		}
	}
	mine, err := ring.deriveNamespaceKey("first", "team")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ring.deriveNamespaceKey("first", "rival")
	if err != nil || bytes.Equal(mine, theirs) || bytes.Equal(mine, ring.secrets["first"]) {
		t.Errorf("the keys of two namespaces: %v", err)
	}
}

func TestEachContentHasAKeyOfItsOwn(t *testing.T) {
	ring := ringOf(t, keys["first"]+keys["second"])
	at := chunk{file: 0, index: 0, bytes: 3}
	seal := func(id string, m store.Manifest) []byte {
		t.Helper()
		c, err := newChunkCipher(ring, id, m)
		if err != nil {
			t.Fatal(err)
		}
		return c.seal(at, append(make([]byte, 0, 64), "abc"...))
	}
	first := seal("first", manifest(one, "a"))
	if !bytes.Equal(first, seal("first", manifest(one, "a"))) {
		t.Error("an upload that is repeated makes other objects")
	}
	for name, sealed := range map[string][]byte{
		"another content": seal("first", manifest(one, "b")), "another snapshot": seal("first", manifest(other, "a")),
		"another namespace": seal("first", manifest(rival, "a")), "another secret": seal("second", manifest(one, "a")),
	} {
		if bytes.Equal(first[:3], sealed[:3]) {
			t.Errorf("%s has the same key stream", name)
		}
	}
}

func TestKeyFileThatCannotBeUsedIsRefusedWithoutShowingIt(t *testing.T) {
	const secret = "c2hvcnQgc2VjcmV0"
	for name, text := range map[string]string{
		"nothing": "", "comments": "# none\n\n", "a short secret": "first " + secret, "no id": secret, "an id that is a path": "../x " + secret,
		"no base64": "first !" + secret, "an id twice": keys["first"] + keys["first"], "three words": "first second " + secret,
	} {
		path := filepath.Join(t.TempDir(), "keys")
		writeFile(t, path, text)
		if _, err := readKeyRing(path); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRotatedKeysOpenWhatWasUploadedBefore(t *testing.T) {
	s := settings(t)
	n := newNode(t, s)
	n.save(one, small("memory"))
	before := n.mustUpload(one)
	writeFile(t, s.Keys, "# new\n"+keys["second"]+keys["first"])
	if _, err := newNode(t, s).Download(t.Context(), one, before.Digest); err != nil {
		t.Errorf("with both keys: %v", err)
	}
	after := n.mustUpload(one)
	if after.Digest == before.Digest {
		t.Error("the upload after the rotation is sealed with the old key")
	}
	writeFile(t, s.Keys, keys["second"])
	next := newNode(t, s)
	if _, err := next.Download(t.Context(), one, after.Digest); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
	next.expectWhole(one, small("memory"))
	if left := newAttacker(t, s).read(); len(left) != 3 {
		t.Errorf("the bucket has %d objects", len(left))
	}
	writeFile(t, s.Keys, keys["first"])
	var refused *RefusedError
	if _, err := newNode(t, s).Download(t.Context(), one, after.Digest); !errors.As(err, &refused) || !strings.Contains(err.Error(), `no key "second"`) {
		t.Errorf("without the key: %v", err)
	}
}
