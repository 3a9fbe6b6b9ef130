package agent

import "testing"

// Dashboards and alerts take rates. A counter that appears with its first failure has a rate of 0 for it.
func TestEverySeriesIsThereBeforeItsFirstEvent(t *testing.T) {
	series := map[string]int{}
	families, err := newMetrics().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		series[family.GetName()] = len(family.GetMetric())
	}
	for name, want := range map[string]int{
		"sandlot_node_saves_total":             2 * 7,
		"sandlot_node_save_seconds":            2,
		"sandlot_node_restores_total":          2,
		"sandlot_node_transfers_total":         3 * 4,
		"sandlot_node_transferred_bytes_total": 3,
	} {
		if series[name] != want {
			t.Errorf("%s has %d series before the first event: want %d", name, series[name], want)
		}
	}
}
