package relay

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pair is a TCP connection: the ends of the client and of the server.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

func TestPassesEveryByteAndTheEndOfEachDirection(t *testing.T) {
	client, a := pair(t)
	b, upstream := pair(t)
	sums := make(chan [2]int64, 1)
	go func() {
		out, back := Both(a, b, time.Minute)
		sums <- [2]int64{out, back}
	}()
	sent := make([]byte, 5<<20)
	_, _ = rand.Read(sent)
	go func() {
		_, _ = client.Write(sent)
		_ = client.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(upstream)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes of %d came (%v)", len(got), len(sent), err)
	}
	// One direction has ended, and the other goes on.
	_, _ = upstream.Write([]byte("answer"))
	_ = upstream.Close()
	if answer, err := io.ReadAll(client); err != nil || string(answer) != "answer" {
		t.Fatalf("%q %v", answer, err)
	}
	if got := <-sums; got != [2]int64{int64(len(sent)), 6} {
		t.Errorf("it counted %v", got)
	}
}

func TestAStreamInOneDirectionIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		client, a := net.Pipe()
		b, upstream := net.Pipe()
		go Both(a, b, idle)
		buffer := make([]byte, 1)
		for range 15 {
			time.Sleep(idle - time.Second)
			go func() { _, _ = upstream.Write([]byte("x")) }()
			if _, err := io.ReadFull(client, buffer); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if _, err := client.Read(buffer); err != io.EOF {
			t.Errorf("an idle connection: %v", err)
		}
		if took := time.Since(begun); took < idle || took > idle+3*idle/4 {
			t.Errorf("it ended after %s", took)
		}
	})
}
