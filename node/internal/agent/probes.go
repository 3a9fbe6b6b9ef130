package agent

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readiness says why the agent does not serve; empty: it does.
type readiness struct {
	obstacle atomic.Pointer[string]
}

func (r *readiness) set(obstacle string) { r.obstacle.Store(&obstacle) }

// probes serves health and metrics. Check finds what the agent lacks while it serves.
func probes(ready *readiness, registry *prometheus.Registry, check func(*http.Request) error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if obstacle := *ready.obstacle.Load(); obstacle != "" {
			http.Error(w, obstacle, http.StatusServiceUnavailable)
			return
		}
		if err := check(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
