package runsc

import (
	"context"
	"fmt"
	"os"
	"sync"

	"sandlot.dev/node/internal/fingerprint"
)

// Machine describes the node, and describes it anew when runsc's program was replaced.
type Machine struct {
	runsc Runsc

	mutex  sync.Mutex
	binary os.FileInfo
	known  fingerprint.Fingerprint
}

// NewMachine describes the node of this gVisor.
func NewMachine(r Runsc) *Machine { return &Machine{runsc: r} }

// Describe returns the fingerprint of the node as it is now.
func (m *Machine) Describe(ctx context.Context) (fingerprint.Fingerprint, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	binary, err := os.Stat(m.runsc.Binary)
	if err != nil {
		return fingerprint.Fingerprint{}, fmt.Errorf("gVisor's runsc is not where the agent looks for it: %w", err)
	}
	if m.binary != nil && os.SameFile(m.binary, binary) && m.binary.ModTime().Equal(binary.ModTime()) && m.binary.Size() == binary.Size() {
		return m.known, nil
	}
	known, err := m.runsc.Fingerprint(ctx)
	if err != nil {
		return fingerprint.Fingerprint{}, err
	}
	m.binary, m.known = binary, known
	return known, nil
}
