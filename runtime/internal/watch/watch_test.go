package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// notification returns the bytes of a notification.
func notification(wd int32, mask, cookie uint32, name string) []byte {
	padded := name
	if name != "" {
		padded += strings.Repeat("\x00", 16-len(name)%16)
	}
	raw := make([]byte, unix.SizeofInotifyEvent, unix.SizeofInotifyEvent+len(padded))
	binary.NativeEndian.PutUint32(raw, uint32(wd))
	binary.NativeEndian.PutUint32(raw[4:], mask)
	binary.NativeEndian.PutUint32(raw[8:], cookie)
	binary.NativeEndian.PutUint32(raw[12:], uint32(len(padded)))
	return append(raw, padded...)
}

// plainFiles has the rights of the test.
type plainFiles struct{}

func (plainFiles) At(path string, do func(string, bool) error) error { return do(path, true) }

func (plainFiles) ReadDir(path string) ([]os.DirEntry, error) { return os.ReadDir(path) }

// newTestHub returns a hub without a kernel and a subscription to a directory with the descriptor 1.
func newTestHub(t testing.TB, recursive bool) (*Hub, *Subscription) {
	t.Helper()
	h := NewHub()
	s := &Subscription{hub: h, options: Options{Root: t.TempDir(), Files: plainFiles{}, Recursive: recursive}, wds: map[int32]string{1: ""}, scanned: map[string]struct{}{}, ready: make(chan struct{}, 1)}
	h.dirs[1] = map[*Subscription]string{s: ""}
	return h, s
}

func TestNotificationsBecomeEvents(t *testing.T) {
	dir := uint32(unix.IN_ISDIR)
	for name, row := range map[string]struct {
		notes [][]byte
		want  string
	}{
		"each kind":                        {[][]byte{notification(1, unix.IN_CREATE, 0, "a"), notification(1, unix.IN_MODIFY, 0, "a"), notification(1, unix.IN_ATTRIB, 0, "a"), notification(1, unix.IN_DELETE, 0, "a")}, "[{a 0} {a 1} {a 4} {a 2}] <nil>"},
		"a rename":                         {[][]byte{notification(1, unix.IN_MOVED_FROM, 7, "a"), notification(1, unix.IN_MOVED_TO, 7, "b")}, "[{a 3} {b 0}] <nil>"},
		"a change of the directory itself": {[][]byte{notification(1, unix.IN_ATTRIB|dir, 0, ""), notification(1, unix.IN_IGNORED, 0, "")}, "[] <nil>"},
		"an unknown descriptor":            {[][]byte{notification(2, unix.IN_CREATE, 0, "a")}, "[] <nil>"},
		"a change after the watch ended":   {[][]byte{notification(1, unix.IN_IGNORED, 0, ""), notification(1, unix.IN_CREATE, 0, "a")}, "[] <nil>"},
		"a truncated notification":         {[][]byte{notification(1, unix.IN_CREATE, 0, "a"), notification(1, unix.IN_CREATE, 0, "b")[:20]}, "[{a 0}] <nil>"},
		"an overflow after events":         {[][]byte{notification(1, unix.IN_CREATE, 0, "a"), notification(-1, unix.IN_Q_OVERFLOW, 0, "")}, "[{a 0}] <nil>"},
		"an overflow before any event":     {[][]byte{notification(-1, unix.IN_Q_OVERFLOW, 0, "")}, "[] " + ErrLost.Error()},
	} {
		h, s := newTestHub(t, false)
		var raw []byte
		for _, each := range row.notes {
			raw = append(raw, each...)
		}
		h.handleAll(raw, time.Unix(0, 0))
		events, err := s.Take()
		if got := fmt.Sprint(events, err); got != row.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestAnEntryThatAScanFoundIsReportedOnce(t *testing.T) {
	h, s := newTestHub(t, true)
	begin := time.Unix(100, 0)
	s.scanned["d/x"], s.scanned["d/y"], s.scannedAt = struct{}{}, struct{}{}, begin
	h.dirs[2], s.wds[2] = map[*Subscription]string{s: "d"}, "d"
	h.handleAll(notification(2, unix.IN_CREATE, 0, "x"), begin)
	h.handleAll(notification(2, unix.IN_CREATE, 0, "x"), begin)
	h.handleAll(notification(2, unix.IN_CREATE, 0, "y"), begin.Add(2*scanMemory))
	events, _ := s.Take()
	if got := fmt.Sprint(events); got != "[{d/x 0} {d/y 0}]" {
		t.Errorf("got %s", got)
	}
}

func TestTheQueueOfASubscriptionIsBounded(t *testing.T) {
	_, s := newTestHub(t, false)
	for range 2 * queueLimit {
		s.push(Event{"x", Write})
	}
	events, err := s.Take()
	if len(events) != queueLimit || err != nil {
		t.Errorf("got %d events, %v", len(events), err)
	}
	if events, err := s.Take(); len(events) != 0 || !errors.Is(err, ErrLost) {
		t.Errorf("then %d events, %v", len(events), err)
	}
}

func TestARecursiveWatchSkipsVirtualFileSystems(t *testing.T) {
	for path, want := range map[string]mountKind{"/proc": madeUp, "/sys": madeUp, "/none": ordinary, os.TempDir(): ordinary} {
		if got := kindOf(path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
	s := &Subscription{options: Options{Root: "/"}}
	if s.enters("proc") || !s.enters("etc") {
		t.Error("a watch of / should skip /proc and include /etc")
	}
}

func FuzzNotificationsOfAnyBytesAreHandled(f *testing.F) {
	f.Add(notification(1, unix.IN_CREATE|unix.IN_ISDIR, 0, "d"))
	f.Add(append(notification(1, unix.IN_MOVED_FROM|unix.IN_ISDIR, 3, "d"), notification(1, unix.IN_MOVED_TO|unix.IN_ISDIR, 3, "e")...))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, s := newTestHub(t, true)
		h.handleAll(raw, time.Unix(0, 0))
		_, _ = s.Take()
	})
}
