package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scanMemory is how long a name that a scan found is remembered: far longer than the delay of an event that was
// queued meanwhile.
const scanMemory = 5 * time.Second

// note is one notification of the kernel.
type note struct {
	wd     int32
	mask   uint32
	cookie uint32
	// name is the name of the entry; empty if the notification is about the watched directory itself.
	name string
}

func (n note) has(flag uint32) bool { return n.mask&flag != 0 }

func (h *Hub) handleAll(raw []byte, now time.Time) {
	for len(raw) >= unix.SizeofInotifyEvent {
		length := int(binary.NativeEndian.Uint32(raw[12:]))
		if unix.SizeofInotifyEvent+length > len(raw) {
			return
		}
		name, _, _ := bytes.Cut(raw[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], []byte{0})
		h.handle(note{
			wd:     int32(binary.NativeEndian.Uint32(raw)),
			mask:   binary.NativeEndian.Uint32(raw[4:]),
			cookie: binary.NativeEndian.Uint32(raw[8:]),
			name:   string(name),
		}, now)
		raw = raw[unix.SizeofInotifyEvent+length:]
	}
}

func (h *Hub) handle(n note, now time.Time) {
	// The kernel reports both halves of a rename in a row. A lone first half is a directory that left the watched
	// tree.
	var moved map[*Subscription]string
	if h.moving != nil {
		if n.has(unix.IN_MOVED_TO) && n.cookie == h.moving.cookie {
			moved = h.moving.from
			h.moving = nil
		} else {
			h.forgetMoved()
		}
	}
	switch {
	case n.has(unix.IN_Q_OVERFLOW):
		for _, subscriptions := range h.dirs {
			for s := range subscriptions {
				s.fail(ErrLost)
			}
		}
	case n.has(unix.IN_IGNORED):
		for s := range h.dirs[n.wd] {
			delete(s.wds, n.wd)
		}
		delete(h.dirs, n.wd)
	case n.name != "":
		// A copy, because handling adds and removes directories.
		for s, dir := range maps.Clone(h.dirs[n.wd]) {
			h.report(s, n, path.Join(dir, n.name), moved, now)
		}
	}
	if n.has(unix.IN_MOVED_TO) {
		h.unwatchMoved(moved)
	}
}

// report queues an event for a subscription and follows the directories of its tree.
func (h *Hub) report(s *Subscription, n note, name string, moved map[*Subscription]string, now time.Time) {
	isTree := n.has(unix.IN_ISDIR) && s.options.Recursive
	// Entries of a tree that moves in get no events, so the tree must be watched before its own event is sent.
	if isTree && n.has(unix.IN_MOVED_TO) {
		h.follow(s, n, name, moved)
		h.queueEvent(s, n, name, now)
		return
	}
	if h.queueEvent(s, n, name, now) && isTree {
		h.follow(s, n, name, moved)
	}
}

// queueEvent queues the event of a notification. It returns false if a scan already reported the entry and watches it.
// Following it again would report its content twice, and hide entries that are created there later.
func (h *Hub) queueEvent(s *Subscription, n note, name string, now time.Time) bool {
	if len(s.scanned) > 0 && now.Sub(s.scannedAt) > scanMemory {
		clear(s.scanned)
	}
	_, known := s.scanned[name]
	switch {
	case n.has(unix.IN_CREATE):
		delete(s.scanned, name)
		if known {
			return false
		}
		s.push(Event{name, Create})
	case n.has(unix.IN_MOVED_TO):
		s.push(Event{name, Create})
	case n.has(unix.IN_MOVED_FROM):
		delete(s.scanned, name)
		s.push(Event{name, Rename})
	case n.has(unix.IN_ATTRIB):
		s.push(Event{name, Chmod})
	case n.has(unix.IN_MODIFY):
		s.push(Event{name, Write})
	case n.has(unix.IN_DELETE):
		delete(s.scanned, name)
		s.push(Event{name, Remove})
	}
	return true
}

// follow keeps the watched directories equal to those of the tree.
func (h *Hub) follow(s *Subscription, n note, name string, moved map[*Subscription]string) {
	switch {
	case n.has(unix.IN_CREATE):
		s.failOn(h.add(s, name, true))
	case n.has(unix.IN_MOVED_TO):
		from, within := moved[s]
		if !within {
			s.failOn(h.add(s, name, false))
			return
		}
		delete(moved, s)
		h.rename(s, from, name)
	case n.has(unix.IN_MOVED_FROM):
		if h.moving == nil {
			h.moving = &move{cookie: n.cookie, from: map[*Subscription]string{}}
		}
		h.moving.from[s] = name
	}
}

// rename changes the names of the directories of a moved tree.
func (h *Hub) rename(s *Subscription, from, to string) {
	for wd, name := range s.wds {
		if rest, below := cutDir(name, from); below {
			s.wds[wd] = to + rest
			h.dirs[wd][s] = to + rest
		}
	}
}

func (h *Hub) forgetMoved() {
	moved := h.moving.from
	h.moving = nil
	h.unwatchMoved(moved)
}

// unwatchMoved ends the watches on directories that left the tree of their subscription.
func (h *Hub) unwatchMoved(moved map[*Subscription]string) {
	for s, from := range moved {
		for wd, name := range s.wds {
			if _, below := cutDir(name, from); below {
				h.detach(s, wd)
			}
		}
	}
}

// cutDir reports whether a name is a directory or below it, and returns the rest with its slash.
func cutDir(name, dir string) (string, bool) {
	rest, found := strings.CutPrefix(name, dir)
	return rest, found && (rest == "" || rest[0] == '/')
}

// add watches a directory and, if the subscription is recursive, those below it. With announce it queues an event for
// everything it finds below: those entries were created before their directory was watched.
func (h *Hub) add(s *Subscription, name string, announce bool) error {
	if name != "" && !s.enters(name) {
		return nil
	}
	err := h.attach(s, name)
	if name != "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, os.ErrPermission)) {
		// The directory has vanished, or the daemon may not read it.
		return nil
	}
	if err != nil || !s.options.Recursive {
		return err
	}
	entries, err := s.options.Files.ReadDir(s.path(name))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		below := path.Join(name, entry.Name())
		if announce {
			s.scanned[below] = struct{}{}
			s.scannedAt = time.Now()
			s.push(Event{below, Create})
		}
		if entry.IsDir() {
			if err := h.add(s, below, announce); err != nil {
				return err
			}
		}
	}
	return nil
}
