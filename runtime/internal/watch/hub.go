// Package watch reports changes in directories through inotify.
//
// It uses inotify directly. fsnotify keeps one path per directory, so it can neither serve two watchers of one
// directory under different names nor follow a directory that is renamed within the watched tree. The whole daemon
// shares one inotify instance, because the kernel grants only 128 per user, and root of all containers on a node is
// the same user.
package watch

import (
	"errors"
	"io/fs"
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

// Hub owns the inotify instance, which exists only while something is watched. It is safe for concurrent use.
type Hub struct {
	mu sync.Mutex
	// instance is nil while nothing is watched.
	instance *os.File
	// dirs maps a watch descriptor to its subscriptions, each with the name of the directory relative to its root.
	dirs map[int32]map[*Subscription]string
	// moving is a rename of which only the first half was read.
	moving *move
}

type move struct {
	cookie uint32
	from   map[*Subscription]string
}

// NewHub returns a hub.
func NewHub() *Hub { return &Hub{dirs: map[int32]map[*Subscription]string{}} }

// Files reaches directories with the rights that the watcher has there.
type Files interface {
	// At passes a path to a system call, which may follow a symlink at its end only if the second argument is true.
	At(path string, do func(path string, follow bool) error) error
	ReadDir(path string) ([]fs.DirEntry, error)
}

// Options describe a watch.
type Options struct {
	// Root is an existing directory, or a symlink to one.
	Root      string
	Files     Files
	Recursive bool
	// NetworkMounts lets a recursive watch enter mounted network file systems.
	NetworkMounts bool
}

// Watch reports every change that happens after it returned. The caller must close the subscription.
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

// drop ends a subscription, and with the last one the inotify instance.
func (h *Hub) drop(s *Subscription) {
	for wd := range s.wds {
		h.detach(s, wd)
	}
	if len(h.dirs) == 0 && h.instance != nil {
		_ = h.instance.Close()
		h.instance, h.moving = nil, nil
	}
}

// detach ends a subscription to one directory. Notifications that are already queued find no subscription.
func (h *Hub) detach(s *Subscription, wd int32) {
	delete(s.wds, wd)
	delete(h.dirs[wd], s)
	if len(h.dirs[wd]) > 0 {
		return
	}
	delete(h.dirs, wd)
	// It fails if the directory is gone, which ends its watch too.
	h.withFd(func(fd int) { _, _ = unix.InotifyRmWatch(fd, uint32(wd)) })
}

// attach subscribes to one directory by its name relative to the root.
func (h *Hub) attach(s *Subscription, name string) error {
	var wd int
	err := s.options.Files.At(s.path(name), func(path string, follow bool) error {
		flags := uint32(mask)
		if !follow || name != "" {
			flags |= unix.IN_DONT_FOLLOW
		}
		err := os.ErrClosed
		h.withFd(func(fd int) { wd, err = unix.InotifyAddWatch(fd, path, flags) })
		if err != nil {
			return &os.PathError{Op: "watch", Path: s.path(name), Err: err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if h.dirs[int32(wd)] == nil {
		h.dirs[int32(wd)] = map[*Subscription]string{}
	}
	h.dirs[int32(wd)][s] = name
	s.wds[int32(wd)] = name
	return nil
}

// withFd runs an operation on the instance. The method Fd would put the file into blocking mode.
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
		// A hub that was empty in between has another instance with new descriptors.
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
