package state

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sandlot.dev/egress/internal/rules"
)

// pusher is a rules process.
type pusher struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Scanner
	sent  int64
}

func dial(t *testing.T, path string) *pusher {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &pusher{t: t, conn: conn, lines: bufio.NewScanner(conn)}
}

// push sends a message and waits until it is confirmed.
func (p *pusher) push(fields string) {
	p.t.Helper()
	p.sent++
	if _, err := fmt.Fprintf(p.conn, "{\"n\":%d,%s}\n", p.sent, fields); err != nil {
		p.t.Fatal(err)
	}
	for p.lines.Scan() {
		var read applied
		if err := json.Unmarshal(p.lines.Bytes(), &read); err == nil && read.Type == "applied" && read.N == p.sent {
			return
		}
	}
	p.t.Fatalf("%s was not confirmed", fields)
}

// isCut says whether the server ends the connection.
func (p *pusher) isCut() bool {
	_ = p.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err := io.Copy(io.Discard, p.conn)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time           { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(by time.Duration) { c.offset.Add(int64(by)) }

func start(t *testing.T) (*Store, *clock, string) {
	t.Helper()
	clock := &clock{}
	store := NewStore(clock.now, func(Change) {})
	path := filepath.Join(t.TempDir(), "rules.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(store, slog.New(slog.DiscardHandler), func() []any { return nil }, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { _ = server.Serve(ctx, listener) }()
	return store, clock, path
}

var address = netip.MustParseAddr("10.0.0.5")

const (
	reset    = `"type":"reset","blocked":["10.0.0.0/8"],"passed":["10.96.0.7","fd00::7"],"inspected":["10.96.0.8"]`
	sandbox5 = `"type":"sandbox","address":"10.0.0.5","sandbox":{"uid":"u1","claimUid":"c1","closed":true,"names":["example.com"]}`
	synced   = `"type":"synced"`
	beat     = `"type":"beat","ageMs":0`
)

func TestKnowsAPodOnceTheViewIsWhole(t *testing.T) {
	store, _, path := start(t)
	rules := dial(t, path)
	rules.push(beat)
	rules.push(reset)
	rules.push(sandbox5)
	if store.Find(address) != nil || store.IsReady() {
		t.Error("half a view is in use")
	}
	if !store.IsBlocked(netip.MustParseAddr("192.0.2.1")) {
		t.Error("an address is open before the blocked ones are known")
	}
	rules.push(synced)
	if found := store.Find(netip.MustParseAddr("::ffff:10.0.0.5")); found == nil || found.UID != "u1" || !store.IsReady() {
		t.Errorf("it knows %+v", found)
	}
	if store.IsBlocked(netip.MustParseAddr("192.0.2.1")) || !store.IsBlocked(netip.MustParseAddr("10.1.1.1")) {
		t.Error("other addresses are blocked than those of the rules process")
	}
	rules.push(`"type":"gone","address":"10.0.0.5"`)
	if store.Find(address) != nil {
		t.Error("it knows a Pod that is gone")
	}
}

func TestKeepsTheViewWhileTheNextOneIsGathered(t *testing.T) {
	store, _, path := start(t)
	first := dial(t, path)
	for _, each := range []string{beat, reset, sandbox5, synced} {
		first.push(each)
	}
	second := dial(t, path)
	second.push(reset)
	if !first.isCut() {
		t.Error("two rules processes push")
	}
	if store.Find(address) == nil {
		t.Error("the view of before was dropped")
	}
	second.push(synced)
	if store.Find(address) != nil {
		t.Error("the next view has a Pod that was not pushed")
	}
}

func TestTheAddressesOfTheProxyAreThoseOfTheWholeView(t *testing.T) {
	store, _, path := start(t)
	pusher := dial(t, path)
	pusher.push(reset)
	if found := store.Proxy(); found != (rules.Proxy{}) {
		t.Errorf("half a view has the proxy at %v", found)
	}
	pusher.push(synced)
	first := rules.Proxy{
		Passed:    rules.Addresses{Four: netip.MustParseAddr("10.96.0.7"), Six: netip.MustParseAddr("fd00::7")},
		Inspected: rules.Addresses{Four: netip.MustParseAddr("10.96.0.8")},
	}
	if found := store.Proxy(); found != first {
		t.Errorf("the proxy is at %v", found)
	}
	pusher.push(`"type":"reset","passed":["10.96.0.9"],"inspected":["fd00::a"]`)
	if found := store.Proxy(); found != first {
		t.Errorf("half of the next view has the proxy at %v", found)
	}
	pusher.push(synced)
	if found := store.Proxy(); found.Passed.Four.String() != "10.96.0.9" || found.Inspected.Six.String() != "fd00::a" {
		t.Errorf("the proxy is then at %v", found)
	}
}

func TestAViewThatAgesLosesCredentialsAndThenLists(t *testing.T) {
	store, clock, path := start(t)
	rules := dial(t, path)
	for _, each := range []string{beat, reset, sandbox5, `"type":"value","ref":"r","value":"secret"`, synced} {
		rules.push(each)
	}
	if value, found := store.Value("r"); !found || value.Reveal() != "secret" {
		t.Error("the value is not there")
	}
	clock.advance(6 * time.Second)
	if store.IsReady() {
		t.Error("it is ready without the rules process")
	}
	clock.advance(25 * time.Second)
	if _, found := store.Value("r"); found || store.Find(address) == nil {
		t.Error("after 31 s the value must be gone and the list must hold")
	}
	rules.push(`"type":"beat","ageMs":20000`)
	if _, found := store.Value("r"); !found {
		t.Error("a view of 20 s has no value")
	}
	clock.advance(10 * time.Minute)
	rules.push(`"type":"beat","ageMs":620000`)
	if store.Find(address) != nil || store.IsReady() {
		t.Error("a list of more than ten minutes ago holds")
	}
}

// A claim may take a member of a pool and close it while nothing says so here.
func TestAPodWithoutAClaimIsKnownByACurrentViewAlone(t *testing.T) {
	for name, age := range map[string]func(clock *clock, rules *pusher){
		"no rules process": func(clock *clock, _ *pusher) { clock.advance(6 * time.Second) },
		"an old view": func(clock *clock, rules *pusher) {
			clock.advance(31 * time.Second)
			rules.push(`"type":"beat","ageMs":31000`)
		},
	} {
		store, clock, path := start(t)
		rules := dial(t, path)
		for _, each := range []string{beat, reset, sandbox5, `"type":"sandbox","address":"10.0.0.6","sandbox":{"uid":"u2"}`, synced} {
			rules.push(each)
		}
		unclaimed := netip.MustParseAddr("10.0.0.6")
		if store.Find(unclaimed) == nil {
			t.Fatal("it is not known at first")
		}
		age(clock, rules)
		if store.Find(unclaimed) != nil || store.Find(address) == nil {
			t.Errorf("%s: a Pod without a claim is known, or the list of another does not hold", name)
		}
		rules.push(beat)
		if store.Find(unclaimed) == nil {
			t.Errorf("%s: it is not known again", name)
		}
	}
}

// A rules process that has seen nothing of the cluster, as one that may not write its Lease, must not count as fresh.
func TestAnAgeThatIsUnknownMakesNothingFresh(t *testing.T) {
	for _, age := range []string{`"type":"beat"`, `"type":"beat","ageMs":null`, `"type":"beat","ageMs":-1`, `"type":"beat","ageMs":9007199254740991`} {
		store, _, path := start(t)
		rules := dial(t, path)
		for _, each := range []string{age, reset, sandbox5, `"type":"value","ref":"r","value":"secret"`, synced, age} {
			rules.push(each)
		}
		if _, found := store.Value("r"); found || store.Find(address) != nil || store.IsReady() {
			t.Errorf("%s counts as fresh", age)
		}
	}
}

func TestAValueThatGoesIsGone(t *testing.T) {
	store, _, path := start(t)
	rules := dial(t, path)
	for _, each := range []string{beat, reset, synced, `"type":"value","ref":"r","value":"secret"`, `"type":"value","ref":"r","value":null`} {
		rules.push(each)
	}
	if _, found := store.Value("r"); found {
		t.Error("the value is still there")
	}
}

func TestCutsARulesProcessThatItDoesNotUnderstand(t *testing.T) {
	for name, lines := range map[string]string{
		"no JSON":                    "sandbox",
		"an unknown type":            `{"type":"open"}`,
		"a change before reset":      `{"type":"gone","address":"10.0.0.5"}`,
		"a name that is none":        "{" + reset + "}\n" + `{"type":"sandbox","address":"10.0.0.5","sandbox":{"names":["10.0.0.1"]}}`,
		"a header that is none":      "{" + reset + "}\n" + `{"type":"sandbox","address":"10.0.0.5","sandbox":{"rules":[{"host":"a.b","headers":[{"name":"a b"}]}]}}`,
		"a reference without place":  "{" + reset + "}\n" + `{"type":"sandbox","address":"10.0.0.5","sandbox":{"rules":[{"host":"a.b","headers":[{"name":"a","ref":"r","value":"Bearer"}]}]}}`,
		"a line that does not end":   strings.Repeat("a", maxLine+1),
		"synced without a beginning": "{" + synced + "}",
		"no addresses of the proxy":  `{"type":"reset"}`,
		"an address that is none":    `{"type":"reset","passed":["None"],"inspected":["10.96.0.8"]}`,
		"no inspecting address":      `{"type":"reset","passed":["10.96.0.7"],"inspected":[]}`,
		"two addresses of a family":  `{"type":"reset","passed":["10.96.0.7","10.96.0.9"],"inspected":["10.96.0.8"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			store, _, path := start(t)
			rules := dial(t, path)
			go func() { _, _ = io.WriteString(rules.conn, lines+"\n") }()
			if !rules.isCut() || store.Find(address) != nil {
				t.Error("it goes on")
			}
		})
	}
}

func TestWaitsForAPodThatIsNotYetKnown(t *testing.T) {
	store, _, path := start(t)
	rules := dial(t, path)
	for _, each := range []string{beat, reset, synced} {
		rules.push(each)
	}
	found := make(chan string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if sandbox := store.Await(ctx, address); sandbox != nil {
			found <- sandbox.UID
		}
		close(found)
	}()
	rules.push(sandbox5)
	if uid := <-found; uid != "u1" {
		t.Errorf("it found %q", uid)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if store.Await(ended, netip.MustParseAddr("10.0.0.6")) != nil {
		t.Error("it found a Pod that does not exist")
	}
}
