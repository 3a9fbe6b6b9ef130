package agent

import (
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/remote"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// The results of a save.
const (
	resultSaved     = "saved"
	resultCancelled = "cancelled"
	resultAbsent    = "absent"
	resultNoSpace   = "no_space"
	resultQuota     = "quota_exceeded"
	resultStuck     = "stuck"
	resultFailed    = "failed"
)

// Those that only restores and transfers have.
const (
	resultRestored = "restored"
	resultDone     = "done"
	resultRefused  = "refused"
)

type metrics struct {
	registry       *prometheus.Registry
	saves          *prometheus.CounterVec
	saveSeconds    *prometheus.HistogramVec
	savedBytes     prometheus.Counter
	restores       *prometheus.CounterVec
	restoreSeconds prometheus.Histogram
	unrecovered    prometheus.Gauge
	transfers      *prometheus.CounterVec
	transferBytes  *prometheus.CounterVec
}

func newMetrics() *metrics {
	buckets := prometheus.ExponentialBuckets(0.025, 2, 13)
	m := &metrics{
		registry:       prometheus.NewRegistry(),
		saves:          prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandlot_node_saves_total", Help: "Saves that ended."}, []string{"mode", "result"}),
		saveSeconds:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sandlot_node_save_seconds", Help: "Durations of saves that succeeded.", Buckets: buckets}, []string{"mode"}),
		savedBytes:     prometheus.NewCounter(prometheus.CounterOpts{Name: "sandlot_node_saved_bytes_total", Help: "Bytes of the snapshots that were saved."}),
		restores:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandlot_node_restores_total", Help: "Restores that ended."}, []string{"result"}),
		restoreSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sandlot_node_restore_seconds", Help: "Durations of restores that succeeded, from the shim's begin to its end.", Buckets: buckets}),
		unrecovered:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "sandlot_node_recovery_failed", Help: "1 while Pods may stand still after a save of an earlier agent."}),
	}
	m.transfers = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandlot_node_transfers_total", Help: "Transfers between the node and the bucket that ended."}, []string{"kind", "result"})
	m.transferBytes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sandlot_node_transferred_bytes_total", Help: "Bytes of the snapshots that were transferred."}, []string{"kind"})
	m.registry.MustRegister(m.transfers, m.transferBytes, m.saves, m.saveSeconds, m.savedBytes, m.restores, m.restoreSeconds, m.unrecovered,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.exposeZeros()
	return m
}

// watch adds what is measured when someone asks.
func (m *metrics) watch(s *store.Store, saver *save.Saver, ledger *grants.Ledger) {
	gauge := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	measure := func() store.Space {
		space, err := s.MeasureSpace()
		if err != nil {
			slog.Error("the store cannot be measured", "error", err.Error())
		}
		return space
	}
	gauge("sandlot_node_saves_in_progress", "Saves in progress.", func() float64 { return float64(saver.CountSaves()) })
	gauge("sandlot_node_restores_in_progress", "Restores in progress.", func() float64 { return float64(ledger.CountBegun()) })
	gauge("sandlot_node_restores_waiting", "Pods that wait until fewer others are restored.", func() float64 { return float64(ledger.CountWaiting()) })
	gauge("sandlot_node_store_free_bytes", "Free bytes of the disk of the store.", func() float64 { return float64(measure().FreeBytes) })
	gauge("sandlot_node_store_keep_free_bytes", "Bytes of the disk that saves leave free.", func() float64 { return float64(s.KeepFreeBytes()) })
	gauge("sandlot_node_store_used_bytes", "Bytes of all snapshots of the node.", func() float64 { return float64(measure().UsedBytes) })
}

func (m *metrics) observeSave(o save.Outcome) {
	mode := string(o.Request.Mode)
	m.saves.WithLabelValues(mode, nameResult(o.Err)).Inc()
	if o.Err == nil {
		m.saveSeconds.WithLabelValues(mode).Observe(o.Took.Seconds())
		m.savedBytes.Add(float64(o.Manifest.Bytes))
	}
}

func nameResult(err error) string {
	switch {
	case err == nil:
		return resultSaved
	case isA[*save.StuckError](err):
		return resultStuck
	case errors.Is(err, save.ErrCancelled):
		return resultCancelled
	case isA[*runsc.AbsentError](err):
		return resultAbsent
	case isA[*store.NoSpaceError](err):
		return resultNoSpace
	case isA[*save.QuotaError](err):
		return resultQuota
	}
	return resultFailed
}

func isA[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

func (m *metrics) observeRestore(before, after grants.Grant) {
	switch after.State {
	case grants.Restored:
		m.restores.WithLabelValues(resultRestored).Inc()
		m.restoreSeconds.Observe(after.ChangedAt.Sub(before.ChangedAt).Seconds())
	case grants.Failed:
		m.restores.WithLabelValues(resultFailed).Inc()
	}
}

func (m *metrics) observeTransfer(o remote.Outcome) {
	result := resultDone
	switch {
	case errors.Is(o.Err, remote.ErrCancelled):
		result = resultCancelled
	case isA[*remote.RefusedError](o.Err):
		result = resultRefused
	case o.Err != nil:
		result = resultFailed
	}
	m.transfers.WithLabelValues(o.Kind, result).Inc()
	m.transferBytes.WithLabelValues(o.Kind).Add(float64(o.Bytes))
}
