// Package metrics measures what the container uses, from its cgroup (v1 or v2) and its root file system.
package metrics

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a cgroup reports.
type Usage struct {
	// CPU is the CPU time used so far.
	CPU time.Duration
	// CPULimit is in CPUs; 0: no limit.
	CPULimit float64
	// Memory, Cache and MemoryLimit are in bytes. Cache is the reclaimable part of Memory. A MemoryLimit of 0 means
	// no limit.
	Memory, Cache, MemoryLimit uint64
}

// group reads the files of a cgroup below a root, which is /sys/fs/cgroup except in tests.
type group struct {
	root string
	// own maps a controller to the path of this process's cgroup, from /proc/self/cgroup; v2 has the empty
	// controller.
	own map[string]string
}

func newGroup(root, self string) group {
	g := group{root: root, own: map[string]string{}}
	content, err := os.ReadFile(self)
	if err != nil {
		return g
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			g.own[controller] = fields[2]
		}
	}
	return g
}

// usage reads cgroup v2 if its files exist, else v1.
func (g group) usage() Usage {
	if stat := g.table("", "cpu.stat"); stat["usage_usec"] > 0 {
		return g.second(stat)
	}
	return g.first()
}

func (g group) second(cpu map[string]uint64) Usage {
	u := Usage{CPU: time.Duration(cpu["usage_usec"]) * time.Microsecond}
	quota := strings.Fields(g.text("", "cpu.max"))
	if len(quota) == 2 {
		u.CPULimit = ratio(quota[0], quota[1])
	}
	u.Memory = number(g.text("", "memory.current"))
	u.MemoryLimit = number(g.text("", "memory.max"))
	stat := g.table("", "memory.stat")
	u.Cache = within(stat["file"]-min(stat["shmem"], stat["file"]), u.Memory)
	return u
}

func (g group) first() Usage {
	u := Usage{CPU: time.Duration(number(g.text("cpuacct", "cpuacct.usage")))}
	u.CPULimit = ratio(g.text("cpu", "cpu.cfs_quota_us"), g.text("cpu", "cpu.cfs_period_us"))
	u.Memory = number(g.text("memory", "memory.usage_in_bytes"))
	u.MemoryLimit = number(g.text("memory", "memory.limit_in_bytes"))
	// cgroup v1 reports "no limit" as the largest number of whole pages.
	if u.MemoryLimit > 1<<62 {
		u.MemoryLimit = 0
	}
	stat := g.table("memory", "memory.stat")
	u.Cache = within(stat["total_cache"]-min(stat["total_shmem"], stat["total_cache"]), u.Memory)
	return u
}

func within(part, whole uint64) uint64 { return min(part, whole) }

// text returns the content of a controller's file. With a cgroup namespace the process's own cgroup is at the root;
// without one, as on the node itself, it is where /proc says.
func (g group) text(controller, name string) string {
	base := filepath.Join(g.root, controller)
	for _, dir := range []string{filepath.Join(base, g.own[controller]), base} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return strings.TrimSpace(string(content))
		}
	}
	return ""
}

func (g group) table(controller, name string) map[string]uint64 {
	rows := map[string]uint64{}
	for line := range strings.Lines(g.text(controller, name)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		rows[key] = number(value)
	}
	return rows
}

// number parses a number; "max" and malformed text are 0.
func number(text string) uint64 {
	value, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return value
}

func ratio(quota, period string) float64 {
	over := number(period)
	if over == 0 {
		return 0
	}
	return float64(number(quota)) / float64(over)
}
