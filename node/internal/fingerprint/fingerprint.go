// Package fingerprint describes what a machine must have in common with another one to restore its snapshots.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// hashBytes keeps the hash short enough to read; the label of a node may have 63 characters.
const hashBytes = 8

// Fingerprint is what decides whether a snapshot can be restored: gVisor must have the same version, and the processor must
// have every feature that the programs in the snapshot may have found.
type Fingerprint struct {
	RunscVersion string `json:"runscVersion"`
	OCIVersion   string `json:"ociVersion"`
	// Architecture is Go's name of it, such as amd64.
	Architecture string `json:"architecture"`
	// CPUFeatures are sorted and unique.
	CPUFeatures []string `json:"cpuFeatures"`
	// Hash stands for all of the above. It is a valid label value.
	Hash string `json:"hash"`
}

// Parts are what a Fingerprint is made of.
type Parts struct {
	RunscVersion, OCIVersion, Architecture string
	// CPUFeatures may be in any order.
	CPUFeatures []string
}

// Build returns the fingerprint of the parts. The order of the features does not matter.
func Build(parts Parts) Fingerprint {
	features := slices.Clone(parts.CPUFeatures)
	slices.Sort(features)
	f := Fingerprint{
		RunscVersion: parts.RunscVersion,
		OCIVersion:   parts.OCIVersion,
		Architecture: parts.Architecture,
		CPUFeatures:  slices.Compact(features),
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "1\n%s\n%s\n%s\n%s\n", f.RunscVersion, f.OCIVersion, f.Architecture, strings.Join(f.CPUFeatures, ",")))
	f.Hash = hex.EncodeToString(sum[:hashBytes])
	return f
}

// ExplainMismatch says why a snapshot of this fingerprint cannot be restored on the target; empty: it can.
func (f Fingerprint) ExplainMismatch(target Fingerprint) string {
	switch missing := f.missingOn(target); {
	case f.RunscVersion != target.RunscVersion:
		return fmt.Sprintf("the snapshot is of runsc %s, this node has %s", f.RunscVersion, target.RunscVersion)
	case f.OCIVersion != target.OCIVersion:
		return fmt.Sprintf("the snapshot is of OCI version %s, this node has %s", f.OCIVersion, target.OCIVersion)
	case f.Architecture != target.Architecture:
		return fmt.Sprintf("the snapshot is of architecture %s, this node has %s", f.Architecture, target.Architecture)
	case len(missing) > 0:
		return fmt.Sprintf("the processor of this node lacks %s", strings.Join(missing, ", "))
	}
	return ""
}

func (f Fingerprint) missingOn(target Fingerprint) []string {
	var missing []string
	for _, feature := range f.CPUFeatures {
		if _, has := slices.BinarySearch(target.CPUFeatures, feature); !has {
			missing = append(missing, feature)
		}
	}
	return missing
}
