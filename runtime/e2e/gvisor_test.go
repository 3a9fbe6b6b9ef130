package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runscVariable names the program runsc; `npm test` builds it.
const runscVariable = "SANDLOT_RUNSC"

// commandTime bounds one command of runsc or ip.
const commandTime = 60 * time.Second

// sandboxes counts the gVisor sandboxes of this process, for names and addresses.
var sandboxes atomic.Int32

// pod is what differs between Pods into which one snapshot may be restored.
type pod struct {
	hostname string
	env      []string
	// program is the folder that the Pod mounts with the daemon and its key.
	program string
	// state is the folder that the Pod mounts for the daemon's settings.
	state string
	// over are files of the image over which the Pod mounts others, as the kubelet does with /etc/hosts.
	over []string
}

// newPod returns a Pod of a sandbox with a key and an empty folder of its own.
func newPod(t *testing.T, hostname string, env ...string) pod {
	t.Helper()
	p := pod{hostname: hostname, env: append([]string{"PATH=/bin", "HOSTNAME=" + hostname, "SANDLOT_RUNTIME_DIR=/state"}, env...)}
	p.program, p.state = t.TempDir(), t.TempDir()
	if out, err := exec.Command(program, "install", p.program).CombinedOutput(); err != nil {
		t.Fatalf("install: %v %s", err, out)
	}
	return p
}

// gvisor is a sandbox of gVisor with a network of its own.
type gvisor struct {
	*daemon
	id, address, bundle, root string
	log                       *os.File
}

// newSandbox makes the network and the bundle of a sandbox, and starts nothing.
func newSandbox(t *testing.T, i image, p pod, command string) *gvisor {
	t.Helper()
	number := int(sandboxes.Add(1))
	id := fmt.Sprintf("runtime-test-%d-%d", os.Getpid(), number)
	g := &gvisor{daemon: &daemon{t: t, port: 49983, said: &safeBuffer{}}, id: id, bundle: t.TempDir(), root: t.TempDir()}
	t.Cleanup(g.remove)
	namespace := g.makeNetwork(number)
	mounts := []any{
		map[string]any{"destination": "/proc", "type": "proc", "source": "proc"},
		map[string]any{"destination": "/.sandlot", "type": "bind", "source": p.program, "options": []string{"rbind", "ro"}},
		map[string]any{"destination": "/state", "type": "bind", "source": p.state, "options": []string{"rbind", "rw"}},
	}
	for _, path := range p.over {
		file := filepath.Join(g.bundle, filepath.Base(path))
		if err := os.WriteFile(file, []byte("of the Pod\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, map[string]any{"destination": path, "type": "bind", "source": file, "options": []string{"rbind", "rw"}})
	}
	g.url, g.execURL = "http://"+g.address+":49983", "http://"+g.address+":8888"
	spec := map[string]any{
		"ociVersion": "1.0.2", "hostname": p.hostname,
		"root": map[string]any{"path": i.root},
		"process": map[string]any{
			"args": []string{"/.sandlot/sandlot-runtime", "run", "--", "sh", "-c", command},
			"cwd":  "/", "env": p.env, "user": map[string]any{"uid": 0, "gid": 0},
			"capabilities": map[string]any{},
		},
		"mounts": mounts,
		"linux": map[string]any{"namespaces": []any{
			map[string]any{"type": "pid"}, map[string]any{"type": "ipc"}, map[string]any{"type": "uts"}, map[string]any{"type": "mount"},
			map[string]any{"type": "network", "path": "/var/run/netns/" + namespace},
		}},
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.bundle, "config.json"), encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	if g.log, err = os.Create(filepath.Join(g.bundle, "output")); err != nil {
		t.Fatal(err)
	}
	return g
}

// makeNetwork makes a network namespace that this machine reaches over a pair of devices, and returns its name.
func (g *gvisor) makeNetwork(number int) string {
	g.t.Helper()
	outside, inside := fmt.Sprintf("slo%d-%d", os.Getpid()%10_000_000, number), fmt.Sprintf("sli%d-%d", os.Getpid()%10_000_000, number)
	network := fmt.Sprintf("10.213.%d.%d", os.Getpid()%250, number%60*4)
	prefix := network[:strings.LastIndex(network, ".")+1]
	last, _ := strconv.Atoi(network[len(prefix):])
	g.address = prefix + strconv.Itoa(last+2)
	for _, line := range []string{
		"netns add " + g.id,
		"link add " + outside + " type veth peer name " + inside,
		"link set " + inside + " netns " + g.id,
		"addr add " + prefix + strconv.Itoa(last+1) + "/30 dev " + outside,
		"link set " + outside + " up",
		"-n " + g.id + " addr add " + g.address + "/30 dev " + inside,
		"-n " + g.id + " link set " + inside + " up",
		"-n " + g.id + " link set lo up",
		"-n " + g.id + " route add default via " + prefix + strconv.Itoa(last+1),
	} {
		g.must("ip", strings.Fields(line)...)
	}
	return g.id
}

func (g *gvisor) remove() {
	// Deferred, because the test ends at once if there is no runsc.
	defer func() { _, _ = g.try("ip", "netns", "del", g.id) }()
	_, _ = g.try(runsc(g.t), g.flags("delete", "--force", g.id)...)
	// runsc mounts a network namespace there.
	_ = unix.Unmount(filepath.Join(g.root, "null-netns"), unix.MNT_DETACH)
	if g.t.Failed() && g.log != nil {
		said, _ := os.ReadFile(g.log.Name())
		g.t.Logf("output of %s:\n%s", g.id, said)
	}
}

func runsc(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(runscVariable); path != "" {
		return path
	}
	path, err := exec.LookPath("runsc")
	if err != nil {
		t.Fatalf("this test needs gVisor: set %s to the program runsc; `npm test` does", runscVariable)
	}
	return path
}

func (g *gvisor) flags(more ...string) []string {
	return append([]string{
		"--root=" + g.root, "--platform=systrap", "--ignore-cgroups", "--network=sandbox", "--restore-spec-validation=warning",
	}, more...)
}

func (g *gvisor) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}

func (g *gvisor) must(name string, args ...string) {
	g.t.Helper()
	if out, err := g.try(name, args...); err != nil {
		g.t.Fatalf("%s %s: %v %s", name, strings.Join(args, " "), err, out)
	}
}

// begin runs a command of runsc that leaves the sandbox running. The sandbox writes to the log.
func (g *gvisor) begin(args ...string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, runsc(g.t), g.flags(args...)...)
	cmd.Stdout, cmd.Stderr = g.log, g.log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(g.log.Name())
		g.t.Fatalf("runsc %s: %v %s", args[0], err, said)
	}
}

func (g *gvisor) boot() {
	g.t.Helper()
	g.begin("run", "--detach", "--bundle="+g.bundle, g.id)
	g.awaitHealth()
}

// save returns the folder of a snapshot. The sandbox goes on.
func (g *gvisor) save(options ...string) string {
	g.t.Helper()
	dir := g.t.TempDir()
	args := append([]string{"checkpoint", "--leave-running", "--image-path=" + dir, "--compression=none"}, options...)
	g.must(runsc(g.t), g.flags(append(args, g.id)...)...)
	return dir
}

func (g *gvisor) restore(snapshot string) {
	g.t.Helper()
	g.begin("restore", "--detach", "--bundle="+g.bundle, "--image-path="+snapshot, g.id)
}
