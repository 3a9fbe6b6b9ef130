package process

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/reaper"
)

const (
	pipeChunk     = 32 << 10
	terminalChunk = 16 << 10
	// drainTime is how long the daemon waits for remaining output of a process that was signalled. Its background
	// children may hold the pipe open longer.
	drainTime = 100 * time.Millisecond
)

// Process is a running process, or one that ended a short while ago.
type Process struct {
	Pid int
	Tag *string
	// About is a value of the starter, returned in lists of processes.
	About any

	order    uint64
	after    func(time.Duration, func()) *time.Timer
	witness  Witness
	child    *reaper.Child
	terminal *os.File
	in       *input
	out      *broadcast
	hurry    chan struct{}
	once     sync.Once
	ended    chan struct{}
}

// Witness sees what one process does, also while no client is subscribed to it.
type Witness interface {
	// Printed gets the output in order per stream, and those of several streams at a time. The data is only valid during the call.
	Printed(stream Stream, data []byte)
	// Ended is called once, after all output and before subscribers get the end.
	Ended(end *End)
}

type blind struct{}

func (blind) Printed(Stream, []byte) {}
func (blind) Ended(*End)             {}

func newProcess(run *launched) *Process {
	p := &Process{
		Pid:      run.child.Pid,
		child:    run.child,
		terminal: run.terminal,
		out:      newBroadcast(),
		witness:  blind{},
		hurry:    make(chan struct{}),
		ended:    make(chan struct{}),
	}
	file := run.stdin
	if run.terminal != nil {
		file = run.terminal
	}
	p.in = newInput(file, run.child.Done())
	return p
}

// follow reads the output and publishes the end: after the exit and all output, or drainTime after the exit of a
// process that was signalled.
func (p *Process) follow(run *launched) {
	var readers sync.WaitGroup
	outputs := []*os.File{}
	read := func(stream Stream, file *os.File, chunk int) {
		if file != nil {
			outputs = append(outputs, file)
			readers.Go(func() { p.read(stream, file, chunk) })
		}
	}
	read(Stdout, run.stdout, pipeChunk)
	read(Stderr, run.stderr, pipeChunk)
	read(Terminal, run.terminal, terminalChunk)

	<-p.child.Done()
	drained := make(chan struct{})
	go func() {
		readers.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-p.hurry:
		for _, file := range outputs {
			_ = file.SetReadDeadline(time.Now().Add(drainTime))
		}
		<-drained
	}
	p.in.shut()
	for _, file := range outputs {
		_ = file.Close()
	}
	end := endOf(p.child.Status())
	p.witness.Ended(end)
	p.out.publish(Event{End: end})
	close(p.ended)
}

func (p *Process) read(stream Stream, file *os.File, chunk int) {
	buffer := make([]byte, chunk)
	for {
		n, err := file.Read(buffer)
		if n > 0 {
			p.witness.Printed(stream, buffer[:n])
		}
		if n > 0 && !p.out.quiet() {
			p.out.publish(Event{Stream: stream, Data: append([]byte(nil), buffer[:n]...)})
		}
		// Reading from a terminal ends with EIO.
		if err != nil {
			return
		}
	}
}

// Subscribe attaches to the output from now on and the end, even if the process has ended.
func (p *Process) Subscribe() *Subscription { return p.out.subscribe() }

// Exited reports whether the process has exited; its children may still hold its output open.
func (p *Process) Exited() bool {
	select {
	case <-p.child.Done():
		return true
	default:
		return false
	}
}

// Signal sends a signal that should end the process to its whole group. ErrExited after the exit.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.child.SignalGroup(sig); err != nil {
		return ErrExited
	}
	p.hasten()
	return nil
}

// Interrupt sends SIGINT to the whole group. Unlike [Process.Signal] it does not expect the process to end: a shell goes on.
// ErrExited after the exit.
func (p *Process) Interrupt() error {
	if err := p.child.SignalGroup(syscall.SIGINT); err != nil {
		return ErrExited
	}
	return nil
}

func (p *Process) hasten() { p.once.Do(func() { close(p.hurry) }) }

// KillAfter kills the process after the limit. It calls first before that, unless the process has ended.
func (p *Process) KillAfter(limit time.Duration, first func()) {
	timer := p.after(limit, func() {
		first()
		p.Abandon()
	})
	go func() {
		<-p.ended
		timer.Stop()
	}()
}

// Abandon kills the process group and stops waiting for remaining output.
func (p *Process) Abandon() {
	_ = p.child.SignalGroup(syscall.SIGKILL)
	p.hasten()
}

// WriteStdin writes to the pipe, in order and as a whole; it returns once all data is in the pipe.
func (p *Process) WriteStdin(ctx context.Context, data []byte) error {
	if p.terminal != nil {
		return ErrOtherInput
	}
	return p.in.write(ctx, data)
}

// WriteTerminal writes to the terminal, in order and as a whole.
func (p *Process) WriteTerminal(ctx context.Context, data []byte) error {
	if p.terminal == nil {
		return ErrOtherInput
	}
	return p.in.write(ctx, data)
}

// HasTerminal reports whether the process has a terminal instead of pipes.
func (p *Process) HasTerminal() bool { return p.terminal != nil }

// CloseStdin closes the input. It may be called again.
func (p *Process) CloseStdin(ctx context.Context) error {
	if p.terminal != nil {
		return ErrCloseTerminal
	}
	return p.in.close(ctx)
}

// Resize changes the size of the terminal.
func (p *Process) Resize(size Size) error {
	if p.terminal == nil {
		return ErrNotTerminal
	}
	return resize(p.terminal, size)
}
