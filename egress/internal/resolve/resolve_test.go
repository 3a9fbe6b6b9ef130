package resolve

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sandlot.dev/egress/internal/dnstest"
)

func TestKeepsAnAnswerAsLongAsItSays(t *testing.T) {
	server := dnstest.Start(t, "a.test. 30 IN A 192.0.2.1", "a.test. 20 IN AAAA 2001:db8::1")
	clock := time.Now()
	resolver := New([]string{server.Address}, func() time.Time { return clock })
	lookup := func() string {
		found, err := resolver.Lookup(t.Context(), "a.test")
		return fmt.Sprint(found, err)
	}
	if got := lookup(); got != "[192.0.2.1 2001:db8::1] <nil>" {
		t.Fatal(got)
	}
	server.Set(t, "a.test. 0 IN A 192.0.2.2")
	clock = clock.Add(19 * time.Second)
	if got := lookup(); got != "[192.0.2.1 2001:db8::1] <nil>" {
		t.Errorf("before its end the answer is %s", got)
	}
	clock = clock.Add(2 * time.Second)
	if got := lookup(); got != "[192.0.2.2] <nil>" {
		t.Errorf("after its end the answer is %s", got)
	}
	server.Set(t, "a.test. 0 IN A 192.0.2.3")
	if got := lookup(); got != "[192.0.2.3] <nil>" {
		t.Errorf("an answer of 0 seconds was kept: %s", got)
	}
}

func TestFollowsATruncatedAnswerOverTCP(t *testing.T) {
	var records []string
	for index := range 100 {
		records = append(records, fmt.Sprintf("many.test. 0 IN A 192.0.2.%d", index+1))
	}
	server := dnstest.Start(t, records...)
	found, err := New([]string{server.Address}, time.Now).Lookup(t.Context(), "many.test")
	if err != nil || len(found) != 100 {
		t.Errorf("it found %d addresses (%v)", len(found), err)
	}
}

func TestANameWithoutAddress(t *testing.T) {
	server := dnstest.Start(t, "text.test. 0 IN TXT x")
	resolver := New([]string{server.Address}, time.Now)
	for _, name := range []string{"text.test", "none.test"} {
		if _, err := resolver.Lookup(t.Context(), name); !errors.Is(err, ErrNoAddress) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAsksTheNextServer(t *testing.T) {
	server := dnstest.Start(t, "a.test. 0 IN A 192.0.2.1")
	// A UDP port that nothing listens on refuses at once.
	found, err := New([]string{"127.0.0.1:1", server.Address}, time.Now).Lookup(t.Context(), "a.test")
	if err != nil || len(found) != 1 {
		t.Errorf("it found %v (%v)", found, err)
	}
}
