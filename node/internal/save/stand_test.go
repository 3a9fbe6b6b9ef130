package save_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// What gVisor logs when it stops the processes of a sandbox for a save, and when they go on.
const (
	stopsLine  = "Sandbox save started, pausing all tasks."
	goesOnLine = "Tasks resumed after save."
)

// BenchmarkStandStill compares how long a Pod stands still in a snapshot with a bare `runsc checkpoint` of the same Pod, by
// what gVisor itself logs. Clean rounds have nothing to write to the volume of the Pod, dirty ones 32 MiB. The ratio is that of
// the time that the Pod stands still in a save to the time that the bare command takes.
func BenchmarkStandStill(b *testing.B) {
	for _, mebibytes := range []int{16, 256, 1024} {
		b.Run(fmt.Sprintf("%dMiB", mebibytes), func(b *testing.B) {
			n := newLoggedNode(b, mebibytes)
			times := map[string][]time.Duration{}
			note := func(name string, took time.Duration) { times[name] = append(times[name], took) }
			for b.Loop() {
				for _, state := range []string{"clean", "dirty"} {
					n.prepareVolume(state)
					raw := n.timeRaw()
					note("raw-"+state, raw)
					note("raw-still-"+state, n.lastStandStill())
					n.prepareVolume(state)
					note("save-"+state, n.timeSave())
					note("save-still-"+state, n.lastStandStill())
				}
				note("usage", n.time(func() error { _, err := n.runsc.Usage(b.Context(), n.pod.Sandbox); return err }))
				note("find", n.time(func() error { _, err := n.runsc.FindPod(b.Context(), analyst); return err }))
			}
			medians := map[string]float64{}
			for name, all := range times {
				slices.Sort(all)
				medians[name] = float64(all[len(all)/2].Microseconds()) / 1000
				b.ReportMetric(medians[name], name+"-ms")
			}
			for _, state := range []string{"clean", "dirty"} {
				b.ReportMetric(medians["save-still-"+state]/medians["raw-"+state], "ratio-"+state)
			}
		})
	}
}

// loggedNode is a node whose gVisor logs.
type loggedNode struct {
	*node
	logs, volume string
	mebibytes    int
}

func newLoggedNode(b *testing.B, mebibytes int) *loggedNode {
	b.Helper()
	rt := runsctest.NewRuntime(b)
	n := &loggedNode{logs: b.TempDir() + "/", volume: b.TempDir(), mebibytes: mebibytes}
	rt.Flags, rt.Volume = append(rt.Flags, "--debug-log="+n.logs), n.volume
	n.node = &node{t: b, folder: b.TempDir(), runsc: rt.Runsc, pod: rt.StartPod(analyst), rt: rt, flush: syscall.Sync, flushLimit: patience}
	n.startAgent()
	n.holdMemory()
	return n
}

// holdMemory has a program of the Pod keep random bytes in its own memory: tail keeps what may be the end of its input.
func (n *loggedNode) holdMemory() {
	n.t.Helper()
	bytes := n.mebibytes << 20
	hold := fmt.Sprintf("(busybox head -c %d /dev/urandom; busybox touch /tmp/full; busybox sleep 100000) | busybox tail -c %d", bytes, bytes)
	n.pod.Exec("sh", "-c", "("+hold+") </dev/null >/dev/null 2>&1 &")
	for n.pod.Exec("busybox", "ls", "/tmp/full") == "" {
		time.Sleep(100 * time.Millisecond)
	}
}

// useMemory writes and removes as much as a save writes. A virtual machine may give free memory back to its host, and then gets
// it more slowly than a save writes, so what is compared begins with memory that was in use a moment ago.
func (n *loggedNode) useMemory() {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "used")
	text := make([]byte, 1<<20)
	file, err := os.Create(path)
	if err != nil {
		n.t.Fatal(err)
	}
	defer os.Remove(path)
	defer file.Close()
	for range n.mebibytes + 32 {
		if _, err := file.Write(text); err != nil {
			n.t.Fatal(err)
		}
	}
}

// prepareVolume has the Pod write to its volume, or the disk have all that it wrote.
func (n *loggedNode) prepareVolume(state string) {
	if state == "dirty" {
		n.pod.Exec("busybox", "dd", "if=/dev/zero", "of=/data/file", "bs=1M", "count=32")
		return
	}
	syscall.Sync()
}

func (n *loggedNode) time(work func() error) time.Duration {
	n.t.Helper()
	began := time.Now()
	if err := work(); err != nil {
		n.t.Fatal(err)
	}
	return time.Since(began)
}

func (n *loggedNode) timeRaw() time.Duration {
	n.t.Helper()
	folder := n.t.TempDir()
	defer os.RemoveAll(folder)
	n.useMemory()
	return n.time(func() error {
		return n.runsc.Checkpoint(n.t.Context(), n.pod.Sandbox, runsc.CheckpointOptions{Folder: filepath.Join(folder, "image"), LeaveRunning: true})
	})
}

func (n *loggedNode) timeSave() time.Duration {
	n.t.Helper()
	r := request(save.Snapshot)
	n.useMemory()
	took := n.time(func() error { _, err := n.saver.Save(n.t.Context(), r); return err })
	if err := n.saver.Delete(n.t.Context(), store.Key{Namespace: r.Snapshot.Namespace, UID: r.Snapshot.UID}); err != nil {
		n.t.Fatal(err)
	}
	return took
}

// lastStandStill is how long the Pod stood still in its last save.
func (n *loggedNode) lastStandStill() time.Duration {
	n.t.Helper()
	paths, err := filepath.Glob(n.logs + "*boot*")
	if err != nil || len(paths) != 1 {
		n.t.Fatalf("gVisor left %v, %v", paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		n.t.Fatal(err)
	}
	return n.findTime(string(text), goesOnLine).Sub(n.findTime(string(text), stopsLine))
}

// findTime is that of the last line with these words.
func (n *loggedNode) findTime(text, words string) time.Time {
	n.t.Helper()
	before := text[:max(0, strings.LastIndex(text, words))]
	line := before[strings.LastIndex(before, "\n")+1:]
	fields := strings.Fields(line)
	if len(fields) < 2 {
		n.t.Fatalf("gVisor does not say %q", words)
	}
	at, err := time.Parse("15:04:05.000000", fields[1])
	if err != nil {
		n.t.Fatal(err)
	}
	return at
}
