package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const copyUID = "11111111-7425-40de-944b-e07fc1f90ae7"

var copied = Key{Namespace: "team", UID: copyUID}

func makeCopy(t *testing.T, s *Store) Manifest {
	t.Helper()
	m, err := s.Copy(copied, oneUID)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// isWhole reports whether the snapshot is there. It fails the test if it is there in part.
func isWhole(t *testing.T, s *Store, key Key) bool {
	t.Helper()
	_, err := s.Verify(t.Context(), key)
	if err != nil && !errors.Is(err, ErrAbsent) {
		t.Errorf("%s: %v", key.UID, err)
	}
	return err == nil
}

// expectFolders fails the test if the store has anything but these snapshots.
func expectFolders(t *testing.T, root string, uids ...string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(root, "team"))
	if err != nil || len(left) != len(uids) {
		t.Errorf("left: %v, %v; want %v", left, err, uids)
	}
}

func TestCopySharesTheDataAndHasAManifestOfItsOwn(t *testing.T) {
	s := open(t, t.TempDir())
	source := finish(t, s, one, "memory")
	for range 2 {
		m := makeCopy(t, s)
		if m.Key != copied || m.CopyOf != oneUID || m.Source != source.Source || !m.SavedAt.Equal(source.SavedAt) || m.Bytes != 6 {
			t.Errorf("got %+v", m)
		}
	}
	if !isWhole(t, s, copied) || !isWhole(t, s, one) {
		t.Error("one of both is not there")
	}
	if !isSameFile(t, filepath.Join(s.Path(one), "pages.img"), filepath.Join(s.Path(copied), "pages.img")) {
		t.Error("the data is stored twice")
	}
	if isSameFile(t, filepath.Join(s.Path(one), manifestName), filepath.Join(s.Path(copied), manifestName)) {
		t.Error("both have one manifest")
	}
	expectFolders(t, s.path, oneUID, copyUID)
}

func isSameFile(t *testing.T, a, b string) bool {
	t.Helper()
	first, err := os.Lstat(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.Lstat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(first, second)
}

func TestWhatMayNotBeCopiedIsRefused(t *testing.T) {
	rows := map[string]struct {
		prepare func(s *Store)
		want    func(error) bool
	}{
		"nothing":              {func(*Store) {}, isErr[error](ErrAbsent)},
		"an unfinished save":   {func(s *Store) { write(t, begin(t, s, one).Path(), "pages.img", "mem") }, isErr[error](ErrAbsent)},
		"one of another space": {func(s *Store) { finish(t, s, Key{"rival", oneUID}, "memory") }, isErr[error](ErrAbsent)},
		"a damaged one": {func(s *Store) {
			finish(t, s, one, "memory")
			os.Truncate(filepath.Join(s.Path(one), "pages.img"), 3)
		}, isErr[*DamagedError](nil)},
		"a link instead of a file": {func(s *Store) {
			finish(t, s, one, "memory")
			os.Remove(filepath.Join(s.Path(one), "pages.img"))
			os.Symlink("/etc/hosts", filepath.Join(s.Path(one), "pages.img"))
		}, isErr[*DamagedError](nil)},
		"a hibernation": {func(s *Store) {
			d := begin(t, s, one)
			write(t, d.Path(), "pages.img", "memory")
			d.Finish(t.Context(), Manifest{Mode: "Hibernate"})
		}, isErr[*NotSharedError](nil)},
		"a copy": {func(s *Store) {
			finish(t, s, Key{"team", otherUID}, "memory")
			s.Copy(one, otherUID)
		}, isErr[*NotSharedError](nil)},
		"one whose copy has the name of another": {func(s *Store) {
			finish(t, s, one, "memory")
			finish(t, s, copied, "other")
		}, isErr[*TakenError](nil)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			row.prepare(s)
			before, _ := s.List()
			if _, err := s.Copy(copied, oneUID); !row.want(err) {
				t.Errorf("got %v", err)
			}
			if after, _ := s.List(); len(after) != len(before) {
				t.Errorf("listed %v; before %v", after, before)
			}
		})
	}
}

// isErr accepts the target, or any error of the type if there is no target.
func isErr[E error](target error) func(error) bool {
	return func(err error) bool {
		if target != nil {
			return errors.Is(err, target)
		}
		_, found := errors.AsType[E](err)
		return found
	}
}

func TestHostileNamesAreNotCopied(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	for _, row := range []struct {
		key  Key
		from string
	}{
		{Key{"..", copyUID}, oneUID}, {Key{"team", ".."}, oneUID}, {copied, "../team/" + oneUID}, {copied, ""}, {copied, "."},
		{copied, remainsPrefix + oneUID}, {Key{"team/../team", copyUID}, oneUID}, {Key{}, ""},
	} {
		if _, err := s.Copy(row.key, row.from); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("%+v from %q: got %v", row.key, row.from, err)
		}
	}
	expectFolders(t, s.path, oneUID)
}

func TestCopyOutlivesItsSourceAndTheOtherWayRound(t *testing.T) {
	for _, deleted := range []Key{one, copied} {
		s := open(t, t.TempDir())
		finish(t, s, one, "memory")
		makeCopy(t, s)
		if err := s.Delete(deleted); err != nil {
			t.Fatal(err)
		}
		for _, key := range []Key{one, copied} {
			if isWhole(t, s, key) != (key != deleted) {
				t.Errorf("after the deletion of %s: %s", deleted.UID, key.UID)
			}
		}
		if _, err := s.Copy(copied, oneUID); err != nil {
			t.Errorf("a repeated request after the deletion of %s: %v", deleted.UID, err)
		}
	}
}

func TestSpaceCountsWhatCopiesShareOnce(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	finish(t, s, Key{"team", otherUID}, "others")
	makeCopy(t, s)
	expect := func(want int64) {
		t.Helper()
		space, err := s.MeasureSpace()
		if usage, usageErr := s.Usage("team"); err != nil || usageErr != nil || space.UsedBytes != want || usage != want {
			t.Errorf("got %d and %d, %v, %v; want %d", space.UsedBytes, usage, err, usageErr, want)
		}
	}
	expect(12)
	if err := s.Delete(one); err != nil {
		t.Fatal(err)
	}
	expect(12)
	if err := s.Delete(copied); err != nil {
		t.Fatal(err)
	}
	expect(6)
}

func TestCopyNeedsNoSpaceOfTheDisk(t *testing.T) {
	root := smallDisk(t, 8<<20)
	s, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	finish(t, s, one, strings.Repeat("x", 6<<20))
	makeCopy(t, s)
	if !isWhole(t, s, copied) {
		t.Error("no copy")
	}
}

func TestDeletionWaitsForTheCopyThatIsBeingMade(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	made := s.names.lock(copied)
	deleted := make(chan error)
	go func() { deleted <- s.Delete(copied) }()
	for deadline := time.Now().Add(30 * time.Second); s.names.count(copied) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the deletion does not wait")
		}
	}
	if _, err := s.link(copied, one); err != nil {
		t.Fatal(err)
	}
	made()
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	expectFolders(t, s.path, oneUID)
	if s.names.count(copied) != 0 {
		t.Error("the lock is left")
	}
}

// count returns how many hold or want the lock.
func (l *keyLocks) count(key Key) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if one := l.held[key]; one != nil {
		return one.users
	}
	return 0
}

func TestCopiesAndDeletionsAtOnceLeaveAWholeCopyOrNone(t *testing.T) {
	s := open(t, t.TempDir())
	finish(t, s, one, "memory")
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := s.Copy(copied, oneUID); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			if err := s.Delete(copied); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	left := []string{oneUID}
	if isWhole(t, s, copied) {
		left = append(left, copyUID)
	}
	expectFolders(t, s.path, left...)
	if !isWhole(t, s, one) {
		t.Error("the source is gone")
	}
}
