package process

import (
	"cmp"
	"slices"
	"sync"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/reaper"
)

// Table holds the processes that the daemon started. It is safe for concurrent use.
type Table struct {
	// After is time.AfterFunc, or a version of it that knows when the sandbox slept. It must be set before the first start.
	After func(limit time.Duration, do func()) *time.Timer
	// Witness is asked at each start who is to see what the process does; nil: nothing is. It must be set before the first start.
	Witness func(pid int, spec Spec) Witness

	reaper *reaper.Reaper
	retain time.Duration

	mu      sync.Mutex
	started uint64
	byPid   map[int]*Process
}

// NewTable returns a table. An ended process can be found for the time of retain, so that a client that lost its
// connection learns how the process ended.
func NewTable(r *reaper.Reaper, retain time.Duration) *Table {
	return &Table{After: time.AfterFunc, reaper: r, retain: retain, byPid: map[int]*Process{}}
}

// Start starts a process and subscribes to it before its first output. The error is a *StartError if the program
// could not run.
func (t *Table) Start(spec Spec, tag *string, about any) (*Process, *Subscription, error) {
	run, err := launch(t.reaper, spec)
	if err != nil {
		return nil, nil, err
	}
	p := newProcess(run)
	p.Tag, p.About, p.after = tag, about, t.After
	if t.Witness != nil {
		p.witness = t.Witness(p.Pid, spec)
	}
	subscription := p.Subscribe()
	t.mu.Lock()
	t.started++
	p.order = t.started
	t.byPid[p.Pid] = p
	t.mu.Unlock()
	go func() {
		p.follow(run)
		t.After(t.retain, func() { t.forget(p) })
	}()
	return p, subscription, nil
}

// forget drops an ended process, unless a newer one has its PID.
func (t *Table) forget(p *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPid[p.Pid] == p {
		delete(t.byPid, p.Pid)
	}
}

// ByPid finds a process that runs or ended a short while ago; nil if there is none.
func (t *Table) ByPid(pid int) *Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byPid[pid]
}

// ByTag finds the newest process with the tag; nil if there is none.
func (t *Table) ByTag(tag string) *Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var newest *Process
	for _, p := range t.byPid {
		if p.Tag != nil && *p.Tag == tag && (newest == nil || p.order > newest.order) {
			newest = p
		}
	}
	return newest
}

// Live lists the running processes in the order of their start.
func (t *Table) Live() []*Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	live := []*Process{}
	for _, p := range t.byPid {
		if !p.Exited() {
			live = append(live, p)
		}
	}
	slices.SortFunc(live, func(a, b *Process) int { return cmp.Compare(a.order, b.order) })
	return live
}

// KillAll kills every process when the daemon ends.
func (t *Table) KillAll() {
	for _, p := range t.Live() {
		_ = p.Signal(syscall.SIGKILL)
	}
}
