package metrics

import (
	"math"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/httpx"
)

// shortest is the minimum interval for a CPU share; calls within it get the previous share.
const shortest = 200 * time.Millisecond

// Sample is the answer of GET /metrics. Sizes are in bytes, except those in MiB.
type Sample struct {
	Time       int64   `json:"ts"`
	CPUCount   int     `json:"cpu_count"`
	CPUUsedPct float64 `json:"cpu_used_pct"`
	MemTotal   uint64  `json:"mem_total"`
	MemUsed    uint64  `json:"mem_used"`
	MemCache   uint64  `json:"mem_cache"`
	MemTotalMi uint64  `json:"mem_total_mib"`
	MemUsedMi  uint64  `json:"mem_used_mib"`
	DiskUsed   uint64  `json:"disk_used"`
	DiskTotal  uint64  `json:"disk_total"`
}

// Meter samples the container. It is safe for concurrent use.
type Meter struct {
	group   group
	meminfo string
	disk    string
	now     func() time.Time

	mu      sync.Mutex
	lastAt  time.Time
	lastCPU time.Duration
	percent float64
}

// Sources are the files that a meter reads.
type Sources struct{ Cgroup, Self, Meminfo, Disk string }

// Container has the sources inside a container.
var Container = Sources{Cgroup: "/sys/fs/cgroup", Self: "/proc/self/cgroup", Meminfo: "/proc/meminfo", Disk: "/"}

// NewMeter starts to measure; the first CPU share is over the time since then.
func NewMeter(from Sources, now func() time.Time) *Meter {
	m := &Meter{group: newGroup(from.Cgroup, from.Self), meminfo: from.Meminfo, disk: from.Disk, now: now}
	m.lastAt, m.lastCPU = now(), m.group.usage().CPU
	return m
}

// Sample returns the current usage. The CPU share is over the time since the previous sample, in percent of all CPUs.
func (m *Meter) Sample() Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	usage := m.group.usage()
	cpus := usage.CPULimit
	if cpus == 0 {
		cpus = float64(runtime.NumCPU())
	}
	now := m.now()
	if passed := now.Sub(m.lastAt); passed >= shortest {
		share := 100 * float64(usage.CPU-m.lastCPU) / float64(passed) / cpus
		m.percent = math.Round(100*min(max(share, 0), 100)) / 100
		m.lastAt, m.lastCPU = now, usage.CPU
	}
	total := usage.MemoryLimit
	if machine := m.memoryOfMachine(); total == 0 || machine > 0 && machine < total {
		total = machine
	}
	sample := Sample{
		Time:       now.Unix(),
		CPUCount:   max(1, int(math.Ceil(cpus))),
		CPUUsedPct: m.percent,
		MemTotal:   total,
		MemUsed:    usage.Memory - usage.Cache,
		MemCache:   usage.Cache,
	}
	sample.MemTotalMi, sample.MemUsedMi = sample.MemTotal>>20, sample.MemUsed>>20
	var disk syscall.Statfs_t
	if syscall.Statfs(m.disk, &disk) == nil {
		block := uint64(disk.Bsize)
		sample.DiskTotal, sample.DiskUsed = disk.Blocks*block, (disk.Blocks-disk.Bfree)*block
	}
	return sample
}

func (m *Meter) memoryOfMachine() uint64 {
	content, err := os.ReadFile(m.meminfo)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(line, "MemTotal:"); found {
			return number(strings.TrimSuffix(strings.TrimSpace(rest), " kB")) << 10
		}
	}
	return 0
}

// Handler serves GET /metrics.
func (m *Meter) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		httpx.WriteJSON(w, http.StatusOK, m.Sample())
	})
}
