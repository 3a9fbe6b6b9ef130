package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

func listen(t *testing.T) uint16 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}

func lead(addresses ...string) Lookup {
	var all []netip.Addr
	for _, text := range addresses {
		all = append(all, netip.MustParseAddr(text))
	}
	return func(context.Context, string) ([]netip.Addr, error) { return all, nil }
}

func none(netip.Addr) bool  { return false }
func every(netip.Addr) bool { return true }

func TestDialsTheFirstAddressThatAnswers(t *testing.T) {
	port := listen(t)
	conn, err := New(lead("127.0.0.2", "127.0.0.1"), none).Dial(t.Context(), "a.test", port, every)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestDialsNoAddressThatTheSandboxMayNotReach(t *testing.T) {
	port := listen(t)
	isOpen := func(address netip.Addr) bool { return !address.IsLoopback() }
	for _, text := range []string{"127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::"} {
		conn, err := New(lead(text), none).Dial(t.Context(), "a.test", port, isOpen)
		if !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", text, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
}

func TestDialsNoBlockedAddressThatWasLetThrough(t *testing.T) {
	port := listen(t)
	isBlocked := func(address netip.Addr) bool { return address.IsLoopback() }
	if _, err := New(lead("127.0.0.1"), isBlocked).Dial(t.Context(), "a.test", port, every); !errors.Is(err, ErrForbidden) {
		t.Errorf("%v", err)
	}
}

// A name that leads elsewhere at the second look-up gains nothing: there is only one.
func TestLooksANameUpOnce(t *testing.T) {
	port := listen(t)
	asked := 0
	flip := func(context.Context, string) ([]netip.Addr, error) {
		asked++
		if asked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	conn, err := New(flip, none).Dial(t.Context(), "a.test", port, every)
	if err != nil || asked != 1 {
		t.Fatalf("it asked %d times (%v)", asked, err)
	}
	defer func() { _ = conn.Close() }()
	if got := conn.RemoteAddr().(*net.TCPAddr).IP.String(); got != "127.0.0.1" {
		t.Errorf("it dialled %s", got)
	}
}
