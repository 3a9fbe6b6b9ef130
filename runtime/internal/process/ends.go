package process

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// ends are both ends of a process's streams before it runs.
type ends struct {
	own   launched
	child [3]*os.File
}

func openEnds(spec Spec) (*ends, error) {
	e := &ends{}
	open := e.openPipes
	if spec.Terminal != nil {
		open = e.openTerminal
	}
	if err := open(spec); err != nil {
		e.closeChild()
		e.closeOwn()
		return nil, fmt.Errorf("opening the streams of the process: %w", err)
	}
	return e, nil
}

func (e *ends) openPipes(spec Spec) error {
	var err error
	if spec.Stdin {
		e.child[0], e.own.stdin, err = os.Pipe()
	} else {
		e.child[0], err = os.Open(os.DevNull)
	}
	if err == nil {
		e.own.stdout, e.child[1], err = os.Pipe()
	}
	if err == nil {
		e.own.stderr, e.child[2], err = os.Pipe()
	}
	return err
}

func (e *ends) openTerminal(spec Spec) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	e.child = [3]*os.File{slave, slave, slave}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Cols: spec.Terminal.Cols, Rows: spec.Terminal.Rows}); err != nil {
		return err
	}
	// Programs such as tmux and script also open the terminal by its name, so the user must own it.
	if spec.SwitchUser {
		if err := slave.Chown(int(spec.User.UID), int(spec.User.GID)); err != nil {
			return err
		}
	}
	// The pty module leaves the file in blocking mode, in which a read cannot be interrupted.
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return err
	}
	e.own.terminal = os.NewFile(uintptr(fd), "terminal")
	return nil
}

func (e *ends) childFiles() []uintptr {
	return []uintptr{e.child[0].Fd(), e.child[1].Fd(), e.child[2].Fd()}
}

func (e *ends) closeChild() {
	for _, file := range e.child {
		if file != nil {
			_ = file.Close()
		}
	}
}

func (e *ends) closeOwn() {
	for _, file := range []*os.File{e.own.stdin, e.own.stdout, e.own.stderr, e.own.terminal} {
		if file != nil {
			_ = file.Close()
		}
	}
}

func resize(terminal *os.File, size Size) error {
	raw, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: size.Cols, Row: size.Rows})
	})
	if err != nil {
		return err
	}
	return failed
}
