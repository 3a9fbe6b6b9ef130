package save

import (
	"context"
	"sync"
	"time"
)

// flusher writes through what Pods wrote to their disks, while they run: gVisor does it for the volumes of a Pod that it saves,
// and that Pod stands still meanwhile.
type flusher struct {
	flush func()
	// limit bounds the wait: a disk of another Pod may hang.
	limit time.Duration

	mutex sync.Mutex
	// running is closed at the end of the flush that runs; nil: none does.
	running chan struct{}
}

// run waits for a flush, one that runs already or its own.
func (f *flusher) run(ctx context.Context) {
	limit := time.NewTimer(f.limit)
	defer limit.Stop()
	select {
	case <-f.start():
	case <-limit.C:
	case <-ctx.Done():
	}
}

func (f *flusher) start() <-chan struct{} {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.running != nil {
		return f.running
	}
	running := make(chan struct{})
	f.running = running
	go func() {
		f.flush()
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.running = nil
		close(running)
	}()
	return running
}
