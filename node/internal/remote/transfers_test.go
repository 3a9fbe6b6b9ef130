package remote

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sandlot.dev/node/internal/porttest"
	"sandlot.dev/node/internal/s3test"
	"sandlot.dev/node/internal/store"
)

func TestSnapshotGoesFromOneNodeToAnother(t *testing.T) {
	s, p := before(t, settings(t))
	source := newNode(t, s)
	source.save(one, large("memory"))
	first := source.mustUpload(one)
	if p.count() != 4 || first.Key != one || CheckDigest(first.Digest) != nil {
		t.Errorf("%d chunks were sent for %+v", p.count(), first)
	}
	p.set(nil)
	if again := source.mustUpload(one); again.Digest != first.Digest || p.count() != 0 {
		t.Errorf("repeated, %d chunks were sent, and the digest is %s after %s", p.count(), again.Digest, first.Digest)
	}
	target := newNode(t, s)
	for range 2 {
		m, err := target.Download(t.Context(), one, first.Digest)
		if err != nil || !slices.Equal(m.Files, first.Files) || m.Source != first.Source || !m.SavedAt.Equal(first.SavedAt) {
			t.Fatalf("got %+v, %v", m, err)
		}
	}
	target.expectWhole(one, large("memory"))
	if again := target.mustUpload(one); again.Digest != first.Digest || p.count() != 0 {
		t.Error("the other node uploads it anew")
	}
	if m, err := target.Verify(t.Context(), one, first.Digest); err != nil || m.Bytes != first.Bytes {
		t.Errorf("verified: %+v, %v", m, err)
	}
	for range 2 {
		if err := target.Delete(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	if left := newAttacker(t, s).read(); len(left) != 0 {
		t.Errorf("the bucket has %d objects", len(left))
	}
	if _, err := newNode(t, s).Download(t.Context(), one, first.Digest); !errors.Is(err, ErrAbsent) {
		t.Errorf("after the deletion: %v", err)
	}
	target.expectWhole(one, large("memory"))
}

func TestDeletionLeavesOtherSnapshots(t *testing.T) {
	s := settings(t)
	n := newNode(t, s)
	for _, key := range []store.Key{one, other, rival} {
		n.save(key, small(key.Namespace))
	}
	digest := n.mustUpload(rival).Digest
	n.mustUpload(one)
	otherDigest := n.mustUpload(other).Digest
	if err := n.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	for key, digest := range map[store.Key]string{rival: digest, other: otherDigest} {
		if _, err := n.Verify(t.Context(), key, digest); err != nil {
			t.Errorf("%+v: %v", key, err)
		}
	}
}

func TestUploadThatBrokeOffGoesOn(t *testing.T) {
	s, p := before(t, settings(t))
	n := newNode(t, s)
	n.save(one, large("memory"))
	p.set(func(w http.ResponseWriter, r *http.Request) bool {
		isLast := strings.HasSuffix(r.URL.Path, "1-00000002")
		if isLast {
			waitFor(t, "other chunks", func() bool { return p.count() == 3 })
			w.WriteHeader(http.StatusForbidden)
		}
		return isLast
	})
	if _, err := n.Upload(t.Context(), one); err == nil || !strings.Contains(err.Error(), s3test.Bucket) {
		t.Fatalf("got %v", err)
	}
	if _, err := newNode(t, s).Download(t.Context(), one, "sha256:"+strings.Repeat("0", 64)); !errors.Is(err, ErrAbsent) {
		t.Errorf("half an upload counts: %v", err)
	}
	p.set(nil)
	digest := n.mustUpload(one).Digest
	if p.count() != 1 {
		t.Errorf("%d chunks were sent again", p.count())
	}
	target := newNode(t, s)
	if _, err := target.Download(t.Context(), one, digest); err != nil {
		t.Fatal(err)
	}
	target.expectWhole(one, large("memory"))
}

func TestAnswerThatBreaksOffIsReadAgain(t *testing.T) {
	s, p := before(t, settings(t))
	n := newNode(t, s)
	n.save(one, small("memory"))
	digest := n.mustUpload(one).Digest
	var once sync.Once
	p.set(func(w http.ResponseWriter, r *http.Request) (taken bool) {
		if isChunk(r) {
			once.Do(func() {
				taken = true
				w.Header().Set("Content-Length", "32")
				w.Write([]byte("half"))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
		}
		return taken
	})
	target := newNode(t, s)
	if _, err := target.Download(t.Context(), one, digest); err != nil {
		t.Fatal(err)
	}
	target.expectWhole(one, small("memory"))
}

func TestDeletionCancelsTransfers(t *testing.T) {
	s, p := before(t, settings(t))
	n := newNode(t, s)
	n.save(one, small("memory"))
	digest := n.mustUpload(one).Digest
	held := p.hold()
	var group sync.WaitGroup
	target := newNode(t, s)
	group.Go(func() {
		if _, err := target.Download(t.Context(), one, digest); !errors.Is(err, ErrCancelled) {
			t.Errorf("the download: %v", err)
		}
	})
	<-held
	var busy *BusyError
	if _, err := target.Upload(t.Context(), one); !errors.As(err, &busy) {
		t.Errorf("an upload while it is downloaded: %v", err)
	}
	if err := target.CancelDownload(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	target.expectNothing()
	p.set(nil)
	if err := n.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	held = p.hold()
	group.Go(func() {
		if _, err := n.Upload(t.Context(), one); !errors.Is(err, ErrCancelled) {
			t.Errorf("the upload: %v", err)
		}
	})
	<-held
	if err := n.CancelDownload(t.Context(), one); err != nil {
		t.Error(err)
	}
	if err := n.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if left := newAttacker(t, s).read(); len(left) != 0 {
		t.Errorf("the bucket has %d objects", len(left))
	}
	n.expectWhole(one, small("memory"))
}

func TestEndOfTheAgentCancelsTransfersAndTakesNoMore(t *testing.T) {
	s, p := before(t, settings(t))
	n := newNode(t, s)
	n.save(one, small("memory"))
	held := p.hold()
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := n.Upload(t.Context(), one); !errors.Is(err, ErrCancelled) {
			t.Errorf("got %v", err)
		}
	})
	<-held
	n.Close()
	group.Wait()
	var busy *BusyError
	if _, err := n.Upload(t.Context(), one); !errors.As(err, &busy) {
		t.Errorf("after the end: %v", err)
	}
}

func TestTransfersAreJoinedAndBounded(t *testing.T) {
	s, p := before(t, settings(t))
	n := newNode(t, s)
	third := store.Key{Namespace: "third", UID: oneUID}
	for _, key := range []store.Key{one, rival, third} {
		n.save(key, small("memory"))
	}
	held := p.hold()
	hasty, giveUp := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := n.Upload(hasty, one); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up: %v", err)
		}
	})
	<-held
	giveUp()
	group.Go(func() {
		if _, err := n.Upload(t.Context(), rival); !errors.Is(err, ErrCancelled) {
			t.Errorf("the rival's: %v", err)
		}
	})
	waitFor(t, "second transfer", func() bool {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		return len(n.transfers) == 2
	})
	var busy *BusyError
	if _, err := n.Upload(t.Context(), third); !errors.As(err, &busy) {
		t.Errorf("a third transfer: %v", err)
	}
	if err := n.Delete(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	// A second caller joins the upload that waits, although the node takes no more transfers.
	if _, err := n.Upload(hasty, one); !errors.Is(err, context.Canceled) {
		t.Errorf("joined: %v", err)
	}
	n.mutex.Lock()
	isThere := n.transfers[one] != nil
	n.mutex.Unlock()
	if !isThere {
		t.Error("the upload ended with its first caller")
	}
	n.Close()
	group.Wait()
}

func TestDownloadSaysWhenItBeginsAndEnds(t *testing.T) {
	s, p := before(t, settings(t))
	source, target := newNode(t, s), newNode(t, s)
	source.save(one, small("memory"))
	uploaded, err := source.Upload(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 4)
	target.Arrive = func(key store.Key) func() {
		said <- "begins " + key.Namespace
		return func() { said <- "ends" }
	}
	held := p.hold()
	// The one who waits may go, and the snapshot is still on its way.
	hasty, giveUp := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := target.Download(hasty, one, uploaded.Digest); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up: %v", err)
		}
	})
	<-held
	giveUp()
	group.Wait()
	if got := <-said; got != "begins team" || len(said) > 0 {
		t.Errorf("it says %q and %d more", got, len(said))
	}
	target.Close()
	if got := <-said; got != "ends" || len(said) > 0 {
		t.Errorf("it says %q and %d more", got, len(said))
	}
}

func TestDamagedSnapshotIsNotUploaded(t *testing.T) {
	s := settings(t)
	n := newNode(t, s)
	n.save(one, small("memory"))
	writeFile(t, filepath.Join(n.Store.Path(one), "pages.img"), "memory of MEMORY")
	var damaged *store.DamagedError
	if _, err := n.Upload(t.Context(), one); !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
	if _, err := n.Upload(t.Context(), other); !errors.Is(err, store.ErrAbsent) {
		t.Errorf("one that is not there: %v", err)
	}
	if left := newAttacker(t, s).read(); len(left) != 0 {
		t.Errorf("the bucket has %d objects", len(left))
	}
}

func TestDownloadDoesNotFillTheDisk(t *testing.T) {
	s := settings(t)
	n := newNode(t, s)
	n.save(one, large("memory"))
	digest := n.mustUpload(one).Digest
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatalf("these tests need root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(root, syscall.MNT_DETACH) })
	target := openNode(t, s, root)
	var full *store.NoSpaceError
	if _, err := target.Download(t.Context(), one, digest); !errors.As(err, &full) {
		t.Errorf("got %v", err)
	}
	target.expectNothing()
}

func TestServerThatIsAwayOrRefusesLeavesNothing(t *testing.T) {
	good := settings(t)
	n := newNode(t, good)
	n.save(one, small("memory"))
	digest := n.mustUpload(one).Digest
	for name, change := range map[string]func(*Settings){
		"no server":         func(s *Settings) { s.Endpoint = "http://" + porttest.FreeAddress(t) },
		"no bucket":         func(s *Settings) { s.Bucket = "absent" },
		"wrong credentials": func(s *Settings) { writeFile(t, filepath.Join(s.Credentials, secretFile), "wrong") },
	} {
		s := good
		s.Credentials = filepath.Join(t.TempDir(), "credentials")
		writeFile(t, filepath.Join(s.Credentials, accessFile), s3test.AccessKey)
		writeFile(t, filepath.Join(s.Credentials, secretFile), s3test.SecretKey)
		change(&s)
		target := newNode(t, s)
		if _, err := target.Download(t.Context(), one, digest); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("%s: %v", name, err)
		}
		target.expectNothing()
	}
}

func TestHostileNamesReachNothing(t *testing.T) {
	n := newNode(t, settings(t))
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, key := range []store.Key{{Namespace: "..", UID: oneUID}, {Namespace: "team", UID: ".."}, {Namespace: "team/../rival", UID: oneUID}, {}} {
		_, byUpload := n.Upload(t.Context(), key)
		_, byDownload := n.Download(t.Context(), key, digest)
		_, byVerify := n.Verify(t.Context(), key, digest)
		for act, err := range map[string]error{"upload": byUpload, "download": byDownload, "verify": byVerify, "delete": n.Delete(t.Context(), key)} {
			if err == nil || errors.Is(err, ErrAbsent) || errors.Is(err, store.ErrAbsent) {
				t.Errorf("%s of %+v: %v", act, key, err)
			}
		}
	}
	for _, digest := range []string{"", "sha256:", "md5:" + strings.Repeat("0", 64), strings.Repeat("0", 64), "sha256:" + strings.Repeat("0", 63) + "\n"} {
		if _, err := n.Download(t.Context(), one, digest); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("digest %q: %v", digest, err)
		}
	}
}

func TestNodeWithoutKeysOrCredentialsDoesNotStart(t *testing.T) {
	for name, path := range map[string]func(Settings) string{
		"keys":       func(s Settings) string { return s.Keys },
		"access key": func(s Settings) string { return filepath.Join(s.Credentials, accessFile) },
		"secret key": func(s Settings) string { return filepath.Join(s.Credentials, secretFile) },
	} {
		s := settings(t)
		if err := os.Remove(path(s)); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Settings: s}); err == nil {
			t.Errorf("it starts without %s", name)
		}
	}
}
