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

// scanMemory is how long a name found by a scan is known: far longer than an event takes that was queued meanwhile.
const scanMemory = 5 * time.Second

// note is one notification of the kernel.
type note struct {
	wd     int32
	mask   uint32
	cookie uint32
	// name is that of the entry; empty when the notification is about the watched directory itself.
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
	// The halves of a rename come one after the other. What does not is a directory that left the watched tree.
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
		// A copy: what is handled adds and removes directories.
		for s, dir := range maps.Clone(h.dirs[n.wd]) {
			h.report(s, n, path.Join(dir, n.name), moved, now)
		}
	}
	if n.has(unix.IN_MOVED_TO) {
		h.leftBehind(moved)
	}
}

// report tells a subscription and follows the directories of its tree.
func (h *Hub) report(s *Subscription, n note, name string, moved map[*Subscription]string, now time.Time) {
	isTree := n.has(unix.IN_ISDIR) && s.options.Recursive
	// What is in a tree that moves in is not announced: it must be watched before anybody hears of it.
	if isTree && n.has(unix.IN_MOVED_TO) {
		h.follow(s, n, name, moved)
		h.tell(s, n, name, now)
		return
	}
	if h.tell(s, n, name, now) && isTree {
		h.follow(s, n, name, moved)
	}
}

// tell queues the event of a notification. False when a scan has found what it tells of: then that is known, and watched.
// To follow it once more would announce again what is in it, and take what is made there later for known.
func (h *Hub) tell(s *Subscription, n note, name string, now time.Time) bool {
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

// follow keeps the watched directories those of the tree.
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

// rename gives the directories of a moved tree their new names.
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
	h.leftBehind(moved)
}

// leftBehind ends the watches on directories that left the tree of their subscription.
func (h *Hub) leftBehind(moved map[*Subscription]string) {
	for s, from := range moved {
		for wd, name := range s.wds {
			if _, below := cutDir(name, from); below {
				h.detach(s, wd)
			}
		}
	}
}

// cutDir says whether a name is that of a directory or below it, and returns the rest with its slash.
func cutDir(name, dir string) (string, bool) {
	rest, found := strings.CutPrefix(name, dir)
	return rest, found && (rest == "" || rest[0] == '/')
}

// add watches a directory and, if the subscription is recursive, those below it. With announce it queues an event for
// all that is found below: it was created before the watch on its directory was there.
func (h *Hub) add(s *Subscription, name string, announce bool) error {
	if name != "" && !s.enters(name) {
		return nil
	}
	err := h.attach(s, name)
	if name != "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, os.ErrPermission)) {
		// It vanished meanwhile, or is not for the eyes of a daemon that is not root.
		return nil
	}
	if err != nil || !s.options.Recursive {
		return err
	}
	entries, err := os.ReadDir(s.path(name))
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
