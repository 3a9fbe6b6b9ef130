package serve

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sandlot.dev/egress/internal/conns"
	"sandlot.dev/egress/internal/dial"
	"sandlot.dev/egress/internal/front"
	"sandlot.dev/egress/internal/identity"
	"sandlot.dev/egress/internal/mint"
	"sandlot.dev/egress/internal/resolve"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/internal/state"
	"sandlot.dev/egress/internal/steer"
	"sandlot.dev/egress/internal/tell"
)

// reportEvery is how often the rules process hears of refusals.
const reportEvery = time.Second

// Run serves until the context ends, and then as long as connections drain.
func Run(ctx context.Context, settings Settings, log *slog.Logger) error {
	// A dump of the process would hold values.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("core dumps cannot be switched off: %w", err)
	}
	plane, err := build(settings, log)
	if err != nil {
		return err
	}
	return plane.run(ctx)
}

type plane struct {
	settings Settings
	store    *state.Store
	front    *front.Front
	resolver steer.Resolver
	server   *state.Server
	registry *prometheus.Registry
	sweep    func()
	draining chan struct{}
}

func build(settings Settings, log *slog.Logger) (*plane, error) {
	authority, err := readAuthority(settings.CA)
	if err != nil {
		return nil, err
	}
	roots, err := readRoots(settings.Roots)
	if err != nil {
		return nil, err
	}
	made := &plane{settings: settings, registry: prometheus.NewRegistry(), draining: make(chan struct{})}
	made.store = state.NewStore(time.Now, func(change state.Change) { made.front.Recheck(change) })
	register := conns.New(settings.Limits, made.store.Find)
	metrics := tell.NewMetrics(made.registry, tell.Gauges{
		Open: register.Open, Sandboxes: made.store.Count, IsReady: made.isReady, IsAttended: made.store.IsAttended, Age: made.store.Age,
	}, settings.Templates)
	teller := tell.New(log, settings.Log, metrics)
	lookup := resolve.New(settings.Servers, time.Now)
	made.front = front.New(settings.Front, front.Parts{
		Store: made.store, Register: register, Dialer: dial.New(lookup.Lookup, made.store.IsBlocked), Mint: authority,
		Prover: identity.NewProver(settings.DaemonPort), Teller: teller, Metrics: metrics, Roots: roots,
	})
	questions := conns.New(conns.Limits{PerSecond: settings.DNSPerSec}, made.store.Find)
	made.resolver = steer.Resolver{Config: steer.Config{
		Find: made.await, Allow: func(source netip.Addr) bool { return questions.Admit(source) == nil },
		Proxy: made.store.Proxy, Forward: lookup.Exchange, IsBlocked: made.store.IsBlocked,
		Teller: teller, Metrics: metrics,
	}}
	made.sweep = questions.Sweep
	made.server = state.NewServer(made.store, log, teller.Report, reportEvery)
	return made, nil
}

// await gives a new Pod the second that its watch event may take.
func (p *plane) await(ctx context.Context, source netip.Addr) *rules.Sandbox {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return p.store.Await(ctx, source)
}

func readAuthority(folder string) (*mint.Mint, error) {
	certificate, err := os.ReadFile(filepath.Join(folder, "tls.crt"))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(folder, "tls.key"))
	if err != nil {
		return nil, err
	}
	return mint.New(certificate, key, time.Now)
}

func readRoots(file string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil || file == "" {
		return roots, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return roots, nil
}

func (p *plane) run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	go p.drain(ctx, stop)
	tasks, err := p.listen(serving)
	if err != nil {
		return err
	}
	tasks = append(tasks, func() error { p.front.Keep(serving, p.sweep); return nil }, func() error { return p.front.ServeLooked(serving) })
	errs := make([]error, len(tasks))
	var running sync.WaitGroup
	for index, task := range tasks {
		running.Go(func() {
			// One that ends early ends the others: the kubelet starts the process anew.
			errs[index] = task()
			stop()
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// drain takes connections for a while after the end was asked for, until the endpoints of the Service have changed everywhere.
func (p *plane) drain(ctx context.Context, stop func()) {
	<-ctx.Done()
	close(p.draining)
	time.Sleep(p.settings.DrainAfter)
	limit, cancel := context.WithTimeout(context.Background(), p.settings.Drain)
	defer cancel()
	p.front.Drain(limit)
	stop()
}

// listen takes all ports, or none.
func (p *plane) listen(ctx context.Context) ([]func() error, error) {
	s := p.settings
	var tasks []func() error
	var errs []error
	var taken []io.Closer
	add := func(port uint16, serve func(context.Context, net.Listener) error) {
		listener, err := net.Listen("tcp", join(s.Bind, port))
		if err != nil {
			errs = append(errs, err)
			return
		}
		taken = append(taken, listener)
		tasks = append(tasks, func() error { return serve(ctx, listener) })
	}
	for _, port := range s.Front.TLSPorts {
		add(port, p.front.ServeTLS)
	}
	for _, port := range s.Front.HTTPPorts {
		add(port, p.front.ServeHTTP)
	}
	add(s.ProxyPort, p.front.ServeConnect)
	add(s.AdminPort, p.serveAdmin)
	packets, err := net.ListenPacket("udp", join(s.Bind, s.DNSPort))
	if err != nil {
		errs = append(errs, err)
	} else {
		taken = append(taken, packets)
		add(s.DNSPort, func(ctx context.Context, listener net.Listener) error {
			return p.resolver.Serve(ctx, packets, listener)
		})
	}
	// A socket of a process before stands in the way.
	_ = os.Remove(s.Socket)
	socket, err := net.Listen("unix", s.Socket)
	if err != nil {
		errs = append(errs, err)
	} else {
		taken = append(taken, socket)
		tasks = append(tasks, func() error { return p.server.Serve(ctx, socket) })
	}
	if len(errs) > 0 {
		for _, listener := range taken {
			_ = listener.Close()
		}
	}
	return tasks, errors.Join(errs...)
}

func join(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
