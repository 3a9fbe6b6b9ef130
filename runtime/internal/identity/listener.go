package identity

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tlsRecord is the first byte of every TLS connection. No method of HTTP begins with it.
const tlsRecord = 0x16

// Both returns a listener for TLS and plain connections on one port, such as those of kubelet probes. It closes
// connections that send nothing for a time.
func Both(plain net.Listener, config *tls.Config, silence time.Duration) net.Listener {
	both := &listener{Listener: plain, config: config, silence: silence, out: make(chan accepted), closed: make(chan struct{})}
	go both.run()
	return both
}

type listener struct {
	net.Listener
	config  *tls.Config
	silence time.Duration
	out     chan accepted
	closing sync.Once
	closed  chan struct{}
}

type accepted struct {
	conn net.Conn
	err  error
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case next := <-l.out:
		return next.conn, next.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (l *listener) run() {
	for {
		conn, err := l.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// The server decides how long it waits before the next one.
			l.pass(accepted{err: err})
			continue
		}
		go l.tell(conn)
	}
}

// tell finds out which of the two a connection is. Each waits for itself: a silent one delays no other.
func (l *listener) tell(conn net.Conn) {
	first, err := peek(conn, l.silence)
	if err != nil {
		_ = conn.Close()
		return
	}
	if first == tlsRecord {
		conn = tls.Server(conn, l.config)
	}
	l.pass(accepted{conn: conn})
}

func (l *listener) pass(next accepted) {
	select {
	case l.out <- next:
	case <-l.closed:
		if next.conn != nil {
			_ = next.conn.Close()
		}
	}
}

// peek returns the first byte and leaves it in the connection: a plain one stays what it is, so the kernel can copy
// files to it.
func peek(conn net.Conn, limit time.Duration) (byte, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0, errors.New("not a TCP connection")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := tcp.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return 0, err
	}
	var first [1]byte
	var count int
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		for {
			count, _, failure = unix.Recvfrom(int(fd), first[:], unix.MSG_PEEK)
			if failure != unix.EINTR {
				return failure != unix.EAGAIN
			}
		}
	})
	if err = errors.Join(err, failure); err == nil && count == 0 {
		err = io.EOF
	}
	if err != nil {
		return 0, err
	}
	return first[0], tcp.SetReadDeadline(time.Time{})
}
