package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveAdmin answers probes and the scraper.
func (p *plane) serveAdmin(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", p.answerReady)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (p *plane) answerReady(writer http.ResponseWriter, _ *http.Request) {
	switch {
	case p.isDraining():
		http.Error(writer, "the process ends", http.StatusServiceUnavailable)
	case !p.store.IsReady():
		http.Error(writer, "the rules are not there, or too old", http.StatusServiceUnavailable)
	default:
		_, _ = writer.Write([]byte("ok\n"))
	}
}

func (p *plane) isReady() bool { return !p.isDraining() && p.store.IsReady() }

func (p *plane) isDraining() bool {
	select {
	case <-p.draining:
		return true
	default:
		return false
	}
}
