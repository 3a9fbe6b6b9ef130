package peek

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// greet lets a real client say its first message, and returns what was read of it.
func greet(t *testing.T, config *tls.Config) (Hello, error) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	go func() { _ = tls.Client(client, config).Handshake() }()
	return Read(server, 5*time.Second)
}

func TestReadsTheNameAndKeepsTheBytes(t *testing.T) {
	hello, err := greet(t, &tls.Config{ServerName: "api.example.com"})
	if err != nil || hello.ServerName != "api.example.com" {
		t.Fatalf("%+v %v", hello, err)
	}
	again, served := net.Pipe()
	defer func() { _, _ = again.Close(), served.Close() }()
	go func() { _, _ = again.Write([]byte("rest")) }()
	replayed := make([]byte, len(hello.Bytes)+4)
	if _, err := io.ReadFull(Replay(served, hello.Bytes), replayed); err != nil || string(replayed) != string(hello.Bytes)+"rest" {
		t.Errorf("the replay differs (%v)", err)
	}
}

func TestAClientWithoutAName(t *testing.T) {
	hello, err := greet(t, &tls.Config{InsecureSkipVerify: true})
	if err != nil || hello.ServerName != "" || len(hello.Bytes) == 0 {
		t.Errorf("%+v %v", hello, err)
	}
}

func TestAClientThatSaysNothingInTime(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	_, err := Read(server, 20*time.Millisecond)
	if network, is := errors.AsType[net.Error](err); !is || !network.Timeout() {
		t.Error(err)
	}
}

// Reading ends for any input, and keeps a beginning of it.
func FuzzReadsHostileBytes(f *testing.F) {
	client, server := net.Pipe()
	go func() { _ = tls.Client(client, &tls.Config{ServerName: "a.example"}).Handshake() }()
	hello, err := Read(server, 5*time.Second)
	if err != nil {
		f.Fatal(err)
	}
	_, _ = client.Close(), server.Close()
	f.Add(hello.Bytes)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01\xff\xff"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		client, server := net.Pipe()
		go func() {
			_, _ = client.Write(sent)
			_ = client.Close()
		}()
		hello, err := Read(server, 5*time.Second)
		if len(hello.Bytes) > len(sent) || string(hello.Bytes) != string(sent[:len(hello.Bytes)]) {
			t.Errorf("it kept other bytes than came")
		}
		if err == nil && len(hello.Bytes) < 5 {
			t.Errorf("%d bytes are a message", len(hello.Bytes))
		}
		_ = server.Close()
	})
}
