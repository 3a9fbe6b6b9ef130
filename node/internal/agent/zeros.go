package agent

import (
	"sandlot.dev/node/internal/remote"
	"sandlot.dev/node/internal/save"
)

// exposeZeros makes every series appear before its first event: a rate does not see the event that made a series.
func (m *metrics) exposeZeros() {
	results := []string{resultSaved, resultCancelled, resultAbsent, resultNoSpace, resultQuota, resultStuck, resultFailed}
	for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
		m.saveSeconds.WithLabelValues(string(mode))
		for _, result := range results {
			m.saves.WithLabelValues(string(mode), result)
		}
	}
	for _, result := range []string{resultRestored, resultFailed} {
		m.restores.WithLabelValues(result)
	}
	for _, kind := range []string{remote.Uploading, remote.Downloading, remote.Deleting} {
		m.transferBytes.WithLabelValues(kind)
		for _, result := range []string{resultDone, resultCancelled, resultRefused, resultFailed} {
			m.transfers.WithLabelValues(kind, result)
		}
	}
}
