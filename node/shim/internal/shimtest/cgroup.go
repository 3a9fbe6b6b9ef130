package shimtest

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// hierarchies matches where the kernel has its cgroups: in one tree, or in one for each controller.
var hierarchies = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"}

// NewNodeWithCgroups starts a containerd whose Pods have cgroups, as the kubelet's have.
func NewNodeWithCgroups(t *testing.T) *Node {
	t.Helper()
	return startNode(t, setup{hasCgroups: true})
}

// cgroupOf is the cgroup that a kubelet would name for the Pod; empty: none.
func (n *Node) cgroupOf(uid string) string {
	if !n.hasCgroups {
		return ""
	}
	// gVisor finds the Pod's cgroup by this beginning.
	return filepath.Join("/", n.group(), "pod"+uid)
}

// group is the cgroup of all Pods of this node.
func (n *Node) group() string { return filepath.Base(n.folder) }

// Cgroups are those of the node's Pods and containers, in all hierarchies.
func (n *Node) Cgroups() []string {
	var found []string
	for _, top := range n.tops() {
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && path != top {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

func (n *Node) tops() []string {
	var found []string
	for _, hierarchy := range hierarchies {
		matches, _ := filepath.Glob(filepath.Join(hierarchy, n.group()))
		found = append(found, matches...)
	}
	return found
}

// removeCgroups also removes what a failed test leaves.
func (n *Node) removeCgroups() {
	paths := append(n.Cgroups(), n.tops()...)
	// Children come before their parents.
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
	for _, path := range paths {
		_ = syscall.Rmdir(path)
	}
}
