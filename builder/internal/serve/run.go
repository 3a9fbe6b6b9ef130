package serve

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sandlot.dev/builder/internal/api"
	"sandlot.dev/builder/internal/credentials"
	"sandlot.dev/builder/internal/guard"
	"sandlot.dev/builder/internal/images"
	"sandlot.dev/builder/internal/tell"
)

// headerLimit is the time for the headers of a request.
const headerLimit = 5 * time.Second

// Run serves until the context ends, and then as long as operations drain.
func Run(ctx context.Context, settings Settings, log *slog.Logger) error {
	// A dump of the process would hold credentials.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("core dumps cannot be switched off: %w", err)
	}
	roots, err := readRoots(settings.CA)
	if err != nil {
		return err
	}
	r := &runner{settings: settings, registry: prometheus.NewRegistry()}
	r.build(roots, log)
	return r.run(ctx)
}

type runner struct {
	settings Settings
	registry *prometheus.Registry
	server   *api.Server
	isEnding atomic.Bool
}

func (r *runner) build(roots *x509.CertPool, log *slog.Logger) {
	s := r.settings
	teller := tell.New(log, r.registry, func() int { return r.server.Open() })
	transport := func(isTrusted bool) *guard.Transport {
		return guard.NewTransport(s.Policy, guard.Options{Roots: roots, Idle: s.Idle, IsTrusted: isTrusted, OnRefused: teller.Refused})
	}
	host, prefix := s.registry()
	plane := images.New(images.Config{
		Registry: host, Prefix: prefix, Keychain: credentials.Keychain{File: s.DockerConfig}, Policy: s.Policy, Platform: s.Platform, Limits: s.Images,
	}, transport(true), transport(false))
	r.server = api.New(plane, s.API, teller)
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

func (r *runner) run(ctx context.Context) error {
	// A socket of a process before stands in the way.
	_ = os.Remove(r.settings.Socket)
	socket, err := net.Listen("unix", r.settings.Socket)
	if err != nil {
		return err
	}
	// The control in the same Pod may run as another user of the same group.
	if err := os.Chmod(r.settings.Socket, 0o660); err != nil {
		return errors.Join(err, socket.Close())
	}
	admin, err := net.Listen("tcp", r.settings.Admin)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	work := &http.Server{Handler: r.server.Handler(), ReadHeaderTimeout: headerLimit}
	probes := &http.Server{Handler: r.admin(), ReadHeaderTimeout: headerLimit}
	return r.serve(ctx, []task{{work, socket}, {probes, admin}})
}

type task struct {
	server   *http.Server
	listener net.Listener
}

// serve runs the servers. One that ends early ends the others: the kubelet starts the process anew.
func (r *runner) serve(ctx context.Context, tasks []task) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(tasks))
	var running sync.WaitGroup
	for index, each := range tasks {
		running.Go(func() {
			defer stop()
			if err := each.server.Serve(each.listener); !errors.Is(err, http.ErrServerClosed) {
				errs[index] = err
			}
		})
	}
	<-ctx.Done()
	r.isEnding.Store(true)
	limit, cancel := context.WithTimeout(context.Background(), r.settings.Drain)
	defer cancel()
	for _, each := range tasks {
		if each.server.Shutdown(limit) != nil {
			_ = each.server.Close()
		}
	}
	running.Wait()
	return errors.Join(errs...)
}

// admin answers probes and the scraper.
func (r *runner) admin() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(writer http.ResponseWriter, _ *http.Request) {
		if r.isEnding.Load() {
			http.Error(writer, "the process ends", http.StatusServiceUnavailable)
		}
	})
	return mux
}
