package shimtest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// freeAddress returns one on loopback that no program listens on. Its port is below those that the kernel gives to clients: with one
// of these a client may be faster than the server of the test.
func freeAddress(t *testing.T) string {
	t.Helper()
	var last error
	for range 100 {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(10_000+rand.IntN(20_000)))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
		last = err
	}
	t.Fatal(last)
	return ""
}
