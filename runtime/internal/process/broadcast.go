package process

import "sync"

// bufferedEvents is how far a subscriber may lag before it blocks the process: half a MiB in full chunks.
const bufferedEvents = 16

// Stream is the origin of output.
type Stream int

// The origins of output.
const (
	Stdout Stream = iota
	Stderr
	Terminal
)

// Event is a piece of output, or the end of the process if End is set.
type Event struct {
	Stream Stream
	Data   []byte
	End    *End
}

// Subscription receives the output from now on and the end as its last event. The subscriber must close it.
type Subscription struct {
	events chan Event
	gone   chan struct{}
	once   sync.Once
	from   *broadcast
}

// Events yields output, in order per stream; the event with End is the last.
func (s *Subscription) Events() <-chan Event { return s.events }

// Close ends the subscription; it no longer blocks the process.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.gone)
		s.from.remove(s)
	})
}

// broadcast sends each event to every subscriber. A full buffer of one subscriber blocks the publisher, and thereby
// the process, so that memory stays bounded and no output is lost. Without subscribers events are dropped.
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
	// Under the same lock as the list of subscribers: a later subscriber gets the end from subscribe.
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
