package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// tree writes files below a temporary folder and returns the folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestUsageIsReadFromBothCgroupVersions(t *testing.T) {
	second := map[string]string{
		"cpu.stat": "usage_usec 2000000\nuser_usec 1\n", "cpu.max": "150000 100000\n", "memory.current": "1000\n",
		"memory.max": "4000\n", "memory.stat": "anon 500\nfile 400\nshmem 100\n",
	}
	nested := map[string]string{}
	for name, content := range second {
		nested["kubepods/pod/c/"+name] = content
	}
	nested["cpu.stat"] = "usage_usec 1\n"
	unlimited := map[string]string{"cpu.stat": "usage_usec 5\n", "cpu.max": "max 100000\n", "memory.max": "max\n", "memory.current": "10\n", "memory.stat": "file 50\nshmem 60\n"}
	first := map[string]string{
		"cpuacct/cpuacct.usage": "2000000000\n", "cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n",
		"memory/memory.usage_in_bytes": "1000\n", "memory/memory.limit_in_bytes": "9223372036854771712\n",
		"memory/memory.stat": "cache 1\ntotal_cache 300\ntotal_shmem 50\n",
	}
	for name, row := range map[string]struct {
		files map[string]string
		self  string
		want  string
	}{
		"version 2 in a namespace":             {second, "0::/\n", "{2s 1.5 1000 300 4000}"},
		"version 2 at the path of the process": {nested, "0::/kubepods/pod/c\n", "{2s 1.5 1000 300 4000}"},
		"version 2 without limits":             {unlimited, "0::/\n", "{5µs 0 10 0 0}"},
		"version 1":                            {first, "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n", "{2s 0.5 1000 250 0}"},
		"no cgroup files":                      {nil, "", "{0s 0 0 0 0}"},
	} {
		root := tree(t, row.files)
		self := tree(t, map[string]string{"self": row.self}) + "/self"
		if got := fmt.Sprint(newGroup(root, self).usage()); got != row.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestASampleMeasuresTheContainerAndNotTheNode(t *testing.T) {
	root := tree(t, map[string]string{
		"cpu.stat": "usage_usec 1000000\n", "cpu.max": "150000 100000\n", "memory.current": "3145728\n", "memory.max": "8388608\n", "memory.stat": "file 1048576\n",
	})
	meminfo := tree(t, map[string]string{"meminfo": "MemTotal:        16384 kB\n"}) + "/meminfo"
	now := time.Unix(1000, 0)
	m := NewMeter(Sources{Cgroup: root, Self: "/none", Meminfo: meminfo, Disk: root}, func() time.Time { return now })
	later := func(passed time.Duration, usage string) Sample {
		now = now.Add(passed)
		if err := os.WriteFile(root+"/cpu.stat", []byte("usage_usec "+usage+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return m.Sample()
	}
	got := later(2*time.Second, "2500000")
	if got.DiskTotal == 0 || got.DiskUsed == 0 || got.DiskUsed > got.DiskTotal {
		t.Errorf("disk: %d of %d", got.DiskUsed, got.DiskTotal)
	}
	got.DiskTotal, got.DiskUsed = 0, 0
	if text := fmt.Sprint(got); text != "{1002 2 50 8388608 2097152 1048576 8 2 0 0}" {
		t.Errorf("got %s", text)
	}
	if share := later(time.Millisecond, "2600000").CPUUsedPct; share != 50 {
		t.Errorf("a sample within the interval should repeat the share: got %v", share)
	}
	if share := later(999*time.Millisecond, "99000000").CPUUsedPct; share != 100 {
		t.Errorf("the share should be at most 100: got %v", share)
	}
	if share := later(time.Second, "1").CPUUsedPct; share != 0 {
		t.Errorf("the share should be at least 0: got %v", share)
	}
}

func TestWithoutLimitsTheNodeIsTheLimit(t *testing.T) {
	meminfo := tree(t, map[string]string{"meminfo": "MemTotal:        16384 kB\nMemFree: 1 kB\n"}) + "/meminfo"
	got := NewMeter(Sources{Cgroup: t.TempDir(), Self: "/none", Meminfo: meminfo, Disk: "/none"}, time.Now).Sample()
	if got.MemTotal != 16<<20 || got.CPUCount != runtime.NumCPU() || got.DiskTotal != 0 {
		t.Errorf("got %+v", got)
	}
}
