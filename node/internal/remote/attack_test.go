package remote

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"sandlot.dev/node/internal/store"
)

// change returns objects with one changed.
func change(objects map[string][]byte, name string, to func([]byte) []byte) {
	objects[name] = to(bytes.Clone(objects[name]))
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 1; return b }
}

// scene is a bucket with a snapshot, an earlier upload of it, another one of its namespace, and one of a rival with its UID.
type scene struct {
	// earlier has the objects of the earlier upload, now those of today.
	earlier, now map[string][]byte
	digest       string
	attacker     *attacker
	settings     Settings
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{settings: settings(t)}
	s.attacker = newAttacker(t, s.settings)
	n := newNode(t, s.settings)
	n.save(one, large("earlier"))
	n.mustUpload(one)
	s.earlier = s.attacker.read()
	if err := n.Store.Delete(one); err != nil {
		t.Fatal(err)
	}
	n.save(one, large("memory."))
	n.save(other, large("others."))
	n.save(rival, large("rivals."))
	s.digest = n.mustUpload(one).Digest
	n.mustUpload(other)
	n.mustUpload(rival)
	s.now = s.attacker.read()
	return s
}

// adopt gives the objects of one snapshot the names of another's.
func adopt(objects map[string][]byte, from, to store.Key) {
	for name := range maps.Clone(objects) {
		if strings.HasPrefix(name, folderOf(to)+"/") {
			delete(objects, name)
		}
	}
	for name, content := range maps.Clone(objects) {
		if rest, is := strings.CutPrefix(name, folderOf(from)+"/"); is {
			objects[folderOf(to)+"/"+rest] = content
		}
	}
}

func TestWriterOfTheBucketCannotChangeASnapshot(t *testing.T) {
	s := newScene(t)
	mine, theirs, others, before := chunksOf(s.now, one), chunksOf(s.now, rival), chunksOf(s.now, other), chunksOf(s.earlier, one)
	if len(mine) != 4 || len(before) != 4 || before[0] == mine[0] {
		t.Fatalf("the snapshot has the objects %v, before %v", mine, before)
	}
	attacks := map[string]func(o map[string][]byte){
		"a changed manifest": func(o map[string][]byte) { change(o, manifestOf(one), flip(-3)) },
		"another key id": func(o map[string][]byte) {
			o[manifestOf(one)] = bytes.Replace(o[manifestOf(one)], []byte("first"), []byte("fir5t"), 1)
		},
		"an empty manifest":                 func(o map[string][]byte) { o[manifestOf(one)] = nil },
		"a manifest that is no JSON":        func(o map[string][]byte) { o[manifestOf(one)] = []byte("{") },
		"a manifest without end":            func(o map[string][]byte) { o[manifestOf(one)] = bytes.Repeat([]byte(" "), mostEnvelope+1) },
		"the manifest of another snapshot":  func(o map[string][]byte) { o[manifestOf(one)] = o[manifestOf(other)] },
		"the manifest of another namespace": func(o map[string][]byte) { o[manifestOf(one)] = o[manifestOf(rival)] },
		"all of another snapshot":           func(o map[string][]byte) { adopt(o, other, one) },
		"all of another namespace":          func(o map[string][]byte) { adopt(o, rival, one) },
		"a changed first byte":              func(o map[string][]byte) { change(o, mine[1], flip(0)) },
		"a changed last byte":               func(o map[string][]byte) { change(o, mine[3], flip(-1)) },
		"a chunk that is cut":               func(o map[string][]byte) { change(o, mine[1], func(b []byte) []byte { return b[:len(b)-1] }) },
		"an empty chunk":                    func(o map[string][]byte) { o[mine[2]] = nil },
		"a longer chunk":                    func(o map[string][]byte) { change(o, mine[1], func(b []byte) []byte { return append(b, 0) }) },
		"a chunk less":                      func(o map[string][]byte) { delete(o, mine[3]) },
		"two chunks that are swapped":       func(o map[string][]byte) { o[mine[1]], o[mine[2]] = o[mine[2]], o[mine[1]] },
		"a chunk twice":                     func(o map[string][]byte) { o[mine[2]] = o[mine[1]] },
		"a chunk of another file":           func(o map[string][]byte) { o[mine[0]] = o[mine[3]] },
		"a chunk of another snapshot":       func(o map[string][]byte) { o[mine[1]] = o[others[1]] },
		"a chunk of another namespace":      func(o map[string][]byte) { o[mine[1]] = o[theirs[1]] },
		"a chunk of an earlier upload":      func(o map[string][]byte) { o[mine[1]] = s.earlier[before[1]] },
		"all chunks of an earlier upload": func(o map[string][]byte) {
			for i := range mine {
				o[mine[i]] = s.earlier[before[i]]
			}
		},
		"the earlier upload, whole, in its own names": func(o map[string][]byte) { maps.Copy(o, s.earlier) },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			changed := maps.Clone(s.now)
			attack(changed)
			s.attacker.replace(s.now, changed)
			defer s.attacker.replace(changed, s.now)
			n := newNode(t, s.settings)
			var refused *RefusedError
			if _, err := n.Download(t.Context(), one, s.digest); !errors.As(err, &refused) || refused.Key != one {
				t.Errorf("the download: %v", err)
			}
			if _, err := n.Verify(t.Context(), one, s.digest); !errors.As(err, &refused) {
				t.Errorf("the verification: %v", err)
			}
			n.expectNothing()
		})
	}
	n := newNode(t, s.settings)
	if _, err := n.Download(t.Context(), one, s.digest); err != nil {
		t.Errorf("without an attack: %v", err)
	}
	n.expectWhole(one, large("memory."))
}

// The digest alone would stop these: here the attacker knows one that fits.
func TestSealsHoldWithoutTheDigest(t *testing.T) {
	s := newScene(t)
	for name, attack := range map[string]func(o map[string][]byte){
		"all of another snapshot":  func(o map[string][]byte) { adopt(o, other, one) },
		"all of another namespace": func(o map[string][]byte) { adopt(o, rival, one) },
		"a changed manifest":       func(o map[string][]byte) { change(o, manifestOf(one), flip(-10)) },
		"the key id of another key": func(o map[string][]byte) {
			o[manifestOf(one)] = bytes.Replace(o[manifestOf(one)], []byte("first"), []byte("second"), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := maps.Clone(s.now)
			attack(changed)
			s.attacker.replace(s.now, changed)
			defer s.attacker.replace(changed, s.now)
			writeFile(t, s.settings.Keys, keys["first"]+keys["second"])
			n := newNode(t, s.settings)
			var refused *RefusedError
			if _, err := n.Download(t.Context(), one, sumEnvelope(changed[manifestOf(one)])); !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}
			n.expectNothing()
		})
	}
}

func TestBucketHasNothingThatCanBeRead(t *testing.T) {
	s := newScene(t)
	for name, content := range s.now {
		for _, word := range []string{"memory.", "kernel", "rivals.", "analyst", "pages", "checkpoint"} {
			if bytes.Contains(content, []byte(word)) || strings.Contains(name, word) {
				t.Errorf("%s shows %q", name, word)
			}
		}
	}
}
