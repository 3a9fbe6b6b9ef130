// Package watch reports changes in directories through inotify.
//
// It speaks to inotify itself: fsnotify keeps one path per directory, so it cannot serve two watchers of one directory
// under different names, and loses a directory that is renamed within the watched tree. And the whole daemon shares
// one inotify instance, of which the kernel grants 128 per user, and to root of all containers of a node together.
package watch

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	mask = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ATTRIB |
		unix.IN_ONLYDIR
	readBuffer = 32 << 10
)

// Hub owns the inotify instance; it exists only while something is watched. It is safe for concurrent use.
type Hub struct {
	mu sync.Mutex
	// instance is nil while nothing is watched.
	instance *os.File
	// dirs says who watches what the kernel calls by a number, and by which name relative to the watched root.
	dirs map[int32]map[*Subscription]string
	// moving is a rename of which only the first half has been read.
	moving *move
}

type move struct {
	cookie uint32
	from   map[*Subscription]string
}

// NewHub makes a hub.
func NewHub() *Hub { return &Hub{dirs: map[int32]map[*Subscription]string{}} }

// Options say what to watch.
type Options struct {
	// Root is an existing directory.
	Root      string
	Recursive bool
	// NetworkMounts lets a recursive watch go into mounted network file systems.
	NetworkMounts bool
}

// Watch reports changes from now on: everything that happens after it returned. Close the subscription.
func (h *Hub) Watch(o Options) (*Subscription, error) {
	s := &Subscription{
		hub:     h,
		options: o,
		wds:     map[int32]string{},
		scanned: map[string]struct{}{},
		ready:   make(chan struct{}, 1),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.open(); err != nil {
		return nil, err
	}
	if err := h.add(s, "", false); err != nil {
		h.drop(s)
		return nil, err
	}
	return s, nil
}

func (h *Hub) open() error {
	if h.instance != nil {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("inotify_init1", err)
	}
	h.instance = os.NewFile(uintptr(fd), "inotify")
	go h.read(h.instance)
	return nil
}

// drop ends a subscription, and the instance with the last one.
func (h *Hub) drop(s *Subscription) {
	for wd := range s.wds {
		h.detach(s, wd)
	}
	if len(h.dirs) == 0 && h.instance != nil {
		_ = h.instance.Close()
		h.instance, h.moving = nil, nil
	}
}

// detach ends a subscription to one directory. What the kernel already reported of it finds nobody.
func (h *Hub) detach(s *Subscription, wd int32) {
	delete(s.wds, wd)
	delete(h.dirs[wd], s)
	if len(h.dirs[wd]) > 0 {
		return
	}
	delete(h.dirs, wd)
	// It fails when the directory is gone, and its watch with it.
	h.withFd(func(fd int) { _, _ = unix.InotifyRmWatch(fd, uint32(wd)) })
}

// attach subscribes to one directory by its name relative to the root.
func (h *Hub) attach(s *Subscription, name string) error {
	flags := uint32(mask)
	if name != "" {
		flags |= unix.IN_DONT_FOLLOW
	}
	var wd int
	err := os.ErrClosed
	h.withFd(func(fd int) { wd, err = unix.InotifyAddWatch(fd, s.path(name), flags) })
	if err != nil {
		return &os.PathError{Op: "watch", Path: s.path(name), Err: err}
	}
	if h.dirs[int32(wd)] == nil {
		h.dirs[int32(wd)] = map[*Subscription]string{}
	}
	h.dirs[int32(wd)][s] = name
	s.wds[int32(wd)] = name
	return nil
}

// withFd runs an operation on the instance without making the file blocking, as its method Fd would.
func (h *Hub) withFd(run func(fd int)) {
	if h.instance == nil {
		return
	}
	raw, err := h.instance.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { run(int(fd)) })
	}
}

func (h *Hub) read(instance *os.File) {
	buffer := make([]byte, readBuffer)
	for {
		n, err := instance.Read(buffer)
		if err != nil {
			if !errors.Is(err, os.ErrClosed) {
				h.failAll(err)
			}
			return
		}
		h.mu.Lock()
		// A hub that was emptied and used again has another instance, which numbers directories anew.
		if h.instance == instance {
			h.handleAll(buffer[:n], time.Now())
		}
		h.mu.Unlock()
	}
}

func (h *Hub) failAll(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subscriptions := range h.dirs {
		for s := range subscriptions {
			s.fail(err)
		}
	}
}
