// Package peek reads the first message of a TLS client and keeps its bytes, so that the connection can be passed on unopened.
package peek

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// maxHello is the longest first message that is read, in bytes.
const maxHello = 16 << 10

var (
	errSeen = errors.New("the message was read")
	// ErrNoHello says that the client did not begin with TLS.
	ErrNoHello = errors.New("the connection does not begin with a ClientHello")
)

// Hello is what a client asks for before anything is encrypted.
type Hello struct {
	// ServerName is as the client sent it. Empty if it sent none.
	ServerName string
	// Bytes are what was read from the connection.
	Bytes []byte
}

// Read reads the first message within a time. An error other than ErrNoHello is one of the connection.
func Read(conn net.Conn, limit time.Duration) (Hello, error) {
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return Hello{}, err
	}
	var hello Hello
	var seen bytes.Buffer
	reader := io.TeeReader(io.LimitReader(conn, maxHello), &seen)
	isHello := false
	config := &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		hello.ServerName = info.ServerName
		isHello = true
		return nil, errSeen
	}}
	err := tls.Server(readOnly{reader: reader}, config).Handshake()
	hello.Bytes = seen.Bytes()
	if !isHello {
		var network net.Error
		if errors.As(err, &network) && network.Timeout() {
			return hello, err
		}
		return hello, ErrNoHello
	}
	return hello, conn.SetReadDeadline(time.Time{})
}

// Replay returns the connection with bytes that were read from it in front.
func Replay(conn net.Conn, read []byte) net.Conn {
	return &replayed{Conn: conn, reader: io.MultiReader(bytes.NewReader(read), conn)}
}

type replayed struct {
	net.Conn
	reader io.Reader
}

func (r *replayed) Read(into []byte) (int, error) { return r.reader.Read(into) }

// readOnly lets the handshake of a server read, and swallows what it answers.
type readOnly struct{ reader io.Reader }

func (r readOnly) Read(into []byte) (int, error)  { return r.reader.Read(into) }
func (readOnly) Write(text []byte) (int, error)   { return len(text), nil }
func (readOnly) Close() error                     { return nil }
func (readOnly) LocalAddr() net.Addr              { return nil }
func (readOnly) RemoteAddr() net.Addr             { return nil }
func (readOnly) SetDeadline(time.Time) error      { return nil }
func (readOnly) SetReadDeadline(time.Time) error  { return nil }
func (readOnly) SetWriteDeadline(time.Time) error { return nil }

// Alert is a reason for which TLS refuses a connection before anything is encrypted.
type Alert byte

const (
	// AccessDenied refuses a name.
	AccessDenied Alert = 49
	// UnrecognizedName refuses a client that sends no name, or one that is none.
	UnrecognizedName Alert = 112
	// InternalError says that the upstream cannot be reached.
	InternalError Alert = 80
)

// Refuse tells the client why in the words of TLS. The caller closes the connection.
func Refuse(conn net.Conn, alert Alert) {
	const record, version, fatal = 21, 0x03, 2
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte{record, version, version, 0, 2, fatal, byte(alert)})
}
