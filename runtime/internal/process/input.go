package process

import (
	"context"
	"errors"
	"os"
	"time"
)

// The reasons to reject input.
var (
	ErrNoInput     = errors.New("the input of the process is closed or was never open")
	ErrOtherInput  = errors.New("the process has the other kind of input: 'stdin' is for pipes, 'pty' for terminals")
	ErrNotTerminal = errors.New("the process has no terminal")
	ErrExited      = errors.New("the process has exited")
	// ErrCloseTerminal rejects closing the input of a terminal; clients send the byte 0x04 instead.
	ErrCloseTerminal = errors.New("the input of a terminal cannot be closed: send it the end-of-transmission character")
)

// exitLag is how long after a failed write an exit counts as its cause.
const exitLag = 200 * time.Millisecond

// input writes to a process, one writer at a time and each piece as a whole. Writers queue, so a process that does
// not read blocks only its own writers.
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
			// Interrupts a write that blocks: a background child may hold the pipe open without reading.
			_ = file.SetWriteDeadline(time.Unix(1, 0))
		}()
	}
	return in
}

// take waits for the turn of this writer.
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

// write writes all of data. It continues after the client disconnects, so that no piece is cut.
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
	// A process that ends closes its input shortly before its exit is collected.
	select {
	case <-in.exited:
		return ErrExited
	case <-time.After(exitLag):
		return errors.Join(ErrNoInput, err)
	}
}

// close ends the input after all earlier writes. It may be called again.
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

// shut closes the input of an exited process.
func (in *input) shut() {
	<-in.turn
	defer func() { in.turn <- struct{}{} }()
	if in.file != nil {
		_ = in.file.Close()
		in.file = nil
	}
}
