package process

import (
	"context"
	"errors"
	"os"
	"time"
)

// Why input is refused.
var (
	ErrNoInput     = errors.New("the input of the process is closed or was never open")
	ErrOtherInput  = errors.New("the process has the other kind of input: 'stdin' is for pipes, 'pty' for terminals")
	ErrNotTerminal = errors.New("the process has no terminal")
	ErrExited      = errors.New("the process has exited")
	// ErrCloseTerminal is the answer to closing the input of a terminal: it is closed by sending it the byte 0x04.
	ErrCloseTerminal = errors.New("the input of a terminal cannot be closed: send it the end-of-transmission character")
)

// exitLag is how long after the input broke an exit is taken for the reason.
const exitLag = 200 * time.Millisecond

// input writes to a process, one writer at a time and each piece whole. Writers queue for the turn, so that a process
// that does not read holds up only those who write to it.
type input struct {
	turn   chan struct{}
	file   *os.File
	exited <-chan struct{}
}

func newInput(file *os.File, exited <-chan struct{}) *input {
	in := &input{turn: make(chan struct{}, 1), file: file, exited: exited}
	in.turn <- struct{}{}
	if file != nil {
		go func() {
			<-exited
			// Ends a write that waits for a reader: the pipe may be held open by a background child.
			_ = file.SetWriteDeadline(time.Unix(1, 0))
		}()
	}
	return in
}

// take waits for the turn to write.
func (in *input) take(ctx context.Context) error {
	select {
	case <-in.turn:
		return nil
	case <-in.exited:
		return ErrExited
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write hands over all of data. Once begun it goes on after the caller went away, so that no piece is cut.
func (in *input) write(ctx context.Context, data []byte) error {
	if err := in.take(ctx); err != nil {
		return err
	}
	defer func() { in.turn <- struct{}{} }()
	if in.file == nil {
		return ErrNoInput
	}
	_, err := in.file.Write(data)
	if err == nil {
		return nil
	}
	// A process that ends closes its input a moment before its exit is known.
	select {
	case <-in.exited:
		return ErrExited
	case <-time.After(exitLag):
		return errors.Join(ErrNoInput, err)
	}
}

// close ends the input after what was written before; it may be called again.
func (in *input) close(ctx context.Context) error {
	if err := in.take(ctx); err != nil {
		return err
	}
	defer func() { in.turn <- struct{}{} }()
	if in.file == nil {
		return nil
	}
	file := in.file
	in.file = nil
	return file.Close()
}

// shut closes the input of a process that has exited.
func (in *input) shut() {
	<-in.turn
	defer func() { in.turn <- struct{}{} }()
	if in.file != nil {
		_ = in.file.Close()
		in.file = nil
	}
}
