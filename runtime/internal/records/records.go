// Package records keeps what the processes of the daemon have done and printed, as far as its bounds allow
// (docs/reference/runtime.md#records-of-processes).
package records

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// maxBytes bounds all records together. The oldest ones make room.
	maxBytes = 512 << 10
	// recordBytes is what a record takes beside its message.
	recordBytes = 128
	// linesPerSecond and linesAtOnce bound the output that is recorded, so that a process that prints a lot costs little.
	linesPerSecond = 200
	linesAtOnce    = 2_000
	// maxQueued bounds the records that wait to be forwarded.
	maxQueued = 256
)

// The levels of records.
const (
	LevelInfo  = "info"
	LevelWarn  = "warn"
	LevelError = "error"
)

// The events of records.
const (
	EventStart   = "start"
	EventStdout  = "stdout"
	EventStderr  = "stderr"
	EventEnd     = "end"
	EventOmitted = "omitted"
)

// Record is something that a process did, or a line that it printed.
type Record struct {
	// Ms is Unix milliseconds. No record is older than the one before it.
	Ms      int64  `json:"ms"`
	Level   string `json:"level"`
	Event   string `json:"event"`
	Message string `json:"message"`
	// Pid is 0 for what is not of one process.
	Pid int `json:"pid,omitempty"`
}

func (r Record) size() int { return len(r.Message) + recordBytes }

// Log is safe for concurrent use.
type Log struct {
	now func() time.Time

	mu      sync.Mutex
	records []Record
	bytes   int
	last    int64
	// left is how many lines of output are still recorded at once, as of refilledAt.
	left       float64
	refilledAt time.Time
	omitted    int
	// forward takes records in place of the memory; nil: none does. It may block, so a goroutine calls it, for which they wait in the queue.
	forward func(Record)
	queue   chan Record
}

// NewLog returns an empty log.
func NewLog(now func() time.Time) *Log { return &Log{now: now, left: linesAtOnce, refilledAt: now()} }

// Since returns the records from that time on, in order, and the time of now: each record that follows is as old as that, or younger.
func (l *Log) Since(ms int64) (records []Record, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := len(l.records)
	for first > 0 && l.records[first-1].Ms >= ms {
		first--
	}
	return append([]Record{}, l.records[first:]...), l.stamp()
}

// Forward gives further records to a function, one after the other, in place of keeping them; nil: they are kept. Those that come while too
// many wait for it are left out, and counted.
func (l *Log) Forward(to func(Record)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forward = to
	if to != nil && l.queue == nil {
		l.queue = make(chan Record, maxQueued)
		go l.empty()
	}
}

func (l *Log) empty() {
	for record := range l.queue {
		l.mu.Lock()
		forward := l.forward
		l.mu.Unlock()
		if forward != nil {
			forward(record)
		}
	}
}

// Clear forgets all records, also those that wait to be forwarded.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records, l.bytes, l.omitted = nil, 0, 0
	for len(l.queue) > 0 {
		select {
		case <-l.queue:
		default:
		}
	}
}

// add records what a process does, beyond all limits of its output.
func (l *Log) add(record Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(record)
}

// addLine records a line of output, or counts it among those that are left out. The record has no message yet.
func (l *Log) addLine(record Record, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	passed := max(0, now.Sub(l.refilledAt).Seconds())
	l.left, l.refilledAt = min(linesAtOnce, l.left+passed*linesPerSecond), now
	if l.left < 1 {
		l.omitted++
		return
	}
	l.left--
	record.Message = string(line)
	l.keep(record)
}

// keep appends the record, or counts it among those that are left out. The lock is held.
func (l *Log) keep(record Record) {
	if l.omitted > 0 {
		message := fmt.Sprintf("%d lines of output are left out here: too many came at once", l.omitted)
		if !l.push(Record{Level: LevelWarn, Event: EventOmitted, Message: message}) {
			l.omitted++
			return
		}
		l.omitted = 0
	}
	if !l.push(record) {
		l.omitted++
	}
}

// push reports whether there is room for the record.
func (l *Log) push(record Record) bool {
	record.Ms, record.Message = l.stamp(), strings.ToValidUTF8(record.Message, "\uFFFD")
	if l.forward != nil {
		select {
		case l.queue <- record:
			return true
		default:
			return false
		}
	}
	l.records = append(l.records, record)
	l.bytes += record.size()
	first := 0
	for ; l.bytes > maxBytes; first++ {
		l.bytes -= l.records[first].size()
		l.records[first] = Record{}
	}
	l.records = l.records[first:]
	return true
}

// stamp returns the time of now, or that of the last record where the clock went back: readers go on behind the last time that they saw.
func (l *Log) stamp() int64 {
	l.last = max(l.last, l.now().UnixMilli())
	return l.last
}
