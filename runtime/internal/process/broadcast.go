package process

import "sync"

// bufferedEvents is how far a subscriber may lag before the process is held back: half a MiB of full chunks.
const bufferedEvents = 16

// Stream names where output came from.
type Stream int

// Where output comes from.
const (
	Stdout Stream = iota
	Stderr
	Terminal
)

// Event is a piece of output, or the end when End is set.
type Event struct {
	Stream Stream
	Data   []byte
	End    *End
}

// Subscription receives what a process says from now on, and its end as the last event. Close it.
type Subscription struct {
	events chan Event
	gone   chan struct{}
	once   sync.Once
	from   *broadcast
}

// Events yields output in order per stream; the event with End is the last one.
func (s *Subscription) Events() <-chan Event { return s.events }

// Close lets the process go on without this subscriber.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.gone)
		s.from.remove(s)
	})
}

// broadcast hands each event to every subscriber. A subscriber whose buffer is full holds the publisher back, and
// through it the process: memory stays bounded and nothing is lost. Without subscribers events are dropped.
type broadcast struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
	end  *End
}

func newBroadcast() *broadcast { return &broadcast{subs: map[*Subscription]struct{}{}} }

func (b *broadcast) subscribe() *Subscription {
	s := &Subscription{events: make(chan Event, bufferedEvents), gone: make(chan struct{}), from: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		s.events <- Event{End: b.end}
		return s
	}
	b.subs[s] = struct{}{}
	return s
}

func (b *broadcast) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, s)
}

func (b *broadcast) publish(event Event) {
	b.mu.Lock()
	subs := make([]*Subscription, 0, len(b.subs))
	for s := range b.subs {
		subs = append(subs, s)
	}
	// Under the same lock as the list: who subscribes from here on gets the end from subscribe.
	if event.End != nil {
		b.end = event.End
	}
	b.mu.Unlock()
	for _, s := range subs {
		select {
		case s.events <- event:
		case <-s.gone:
		}
	}
}

func (b *broadcast) quiet() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs) == 0
}
