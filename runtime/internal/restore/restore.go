// Package restore notices that gVisor has restored this process from a snapshot
// (docs/reference/runtime.md#after-a-restore).
package restore

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// environFile has the environment of the container as its Pod asks for it now. A restore puts the new Pod's there
	// before any process runs. The environment of a process stays what it was.
	environFile = "/proc/gvisor/spec_environ"
	// checkpointFile answers after the next snapshot, in the saved sandbox with "resume" and in the restored one with
	// "restore". The latter comes a moment after processes run again.
	checkpointFile = "/proc/gvisor/checkpoint"
	restored       = "restore\n"
	// again is how long Watch waits when the file of gVisor fails.
	again = time.Second
)

// Detector counts the restores of this process. Nil is the detector outside of gVisor, where there are none. It is safe
// for concurrent use.
type Detector struct {
	environ int

	mu         sync.Mutex
	checkpoint int
	// seen is the environment of the last look.
	seen   []byte
	buffer []byte
	// ahead means that the environment has shown a restore that the checkpoint file has still to answer.
	ahead bool
	count uint64
}

// Open returns the detector of this process.
func Open() *Detector {
	environ, err := unix.Open(environFile, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	d := &Detector{environ: environ, checkpoint: openCheckpoint(), buffer: make([]byte, 4<<10)}
	d.seen = bytes.Clone(d.read())
	return d
}

func openCheckpoint() int {
	file, err := unix.Open(checkpointFile, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1
	}
	return file
}

// Count returns how often this process was restored. It is right from the first instruction after the restore if the new
// Pod's environment differs in any variable, and else within milliseconds. It takes two system calls.
func (d *Detector) Count() uint64 {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := d.answer()
	if now := d.read(); !bytes.Equal(now, d.seen) {
		d.seen = bytes.Clone(now)
		d.count++
		d.ahead = answer != restored
		return d.count
	}
	if answer == restored && !d.ahead {
		d.count++
	}
	if answer != "" {
		d.ahead = false
	}
	return d.count
}

// answer returns what the checkpoint file says about a snapshot since the last look; empty: there was none.
func (d *Detector) answer() string {
	var text [16]byte
	n, err := unix.Pread(d.checkpoint, text[:], 0)
	if err != nil || n == 0 {
		return ""
	}
	// An open file answers for one snapshot, so the next one is awaited before this one is forgotten.
	used := d.checkpoint
	d.checkpoint = openCheckpoint()
	_ = unix.Close(used)
	return string(text[:n])
}

// read returns the environment, which is valid until the next call; nil if gVisor has none.
func (d *Detector) read() []byte {
	for {
		n, err := unix.Pread(d.environ, d.buffer, 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil
		case n < len(d.buffer):
			return d.buffer[:n]
		default:
			d.buffer = make([]byte, 2*len(d.buffer))
		}
	}
}

// Watch calls notice after each snapshot, for as long as the process lives.
func (d *Detector) Watch(notice func()) {
	if d == nil {
		return
	}
	answer := make([]byte, 16)
	for {
		file, err := os.Open(checkpointFile)
		// For a snapshot before the file was open.
		notice()
		if err == nil {
			_, err = file.Read(answer)
			_ = file.Close()
		}
		if err != nil {
			slog.Error("cannot watch for a restore; retrying", "error", err)
			time.Sleep(again)
		}
	}
}

// AfterFunc is time.AfterFunc, whose time begins again with a restore: a process that was saved used up none of it.
func (d *Detector) AfterFunc(limit time.Duration, do func()) *time.Timer {
	if d == nil {
		return time.AfterFunc(limit, do)
	}
	var mu sync.Mutex
	begun := d.Count()
	var timer *time.Timer
	due := func() bool {
		mu.Lock()
		defer mu.Unlock()
		now := d.Count()
		if now == begun {
			return true
		}
		begun = now
		timer.Reset(limit)
		return false
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(limit, func() {
		if due() {
			do()
		}
	})
	return timer
}

// ownPrefix begins the names of the daemon's own variables.
const ownPrefix = "SANDLOT_"

// uidVariable is set in the environment of every Pod that an installation makes.
const uidVariable = ownPrefix + "SANDBOX_UID"

// Getenv reads the environment for a daemon that starts. A supervisor hands on the environment of the Pod that was saved,
// so the daemon's own variables come from the Pod of now if it has them.
func (d *Detector) Getenv(name string) string {
	if d != nil {
		if spec := d.Environ(); spec(uidVariable) != "" && strings.HasPrefix(name, ownPrefix) {
			return spec(name)
		}
	}
	return os.Getenv(name)
}

// Environ returns the environment of the Pod as a function like os.Getenv.
func (d *Detector) Environ() func(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := string(d.read())
	return func(name string) string {
		for each := range strings.SplitSeq(all, "\x00") {
			if value, ok := strings.CutPrefix(each, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
