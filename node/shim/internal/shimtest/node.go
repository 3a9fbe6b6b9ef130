// Package shimtest runs Pods with the real containerd, the real gVisor and the shim, without Kubernetes, for tests.
package shimtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Patience bounds every wait, so that a test fails instead of hanging. No test measures time with it.
const Patience = time.Minute

const handler = "runsc"

// namespace is where containerd has the containers of Pods.
const namespace = "k8s.io"

// connect tries often: containerd starts in a tenth of a second.
var connect = grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1, MaxDelay: time.Second}, MinConnectTimeout: time.Second}

// Node is a containerd of its own, as a kubelet would use it.
type Node struct {
	// Socket is where the shim asks the node agent.
	Socket string

	setup
	t       *testing.T
	folder  string
	runsc   string
	runtime cri.RuntimeServiceClient
}

// NewNode starts containerd. All it starts ends with the test.
func NewNode(t *testing.T) *Node {
	t.Helper()
	return startNode(t, setup{})
}

// NewNodeThatPasses starts a containerd that passes more annotations of Pods on than it should.
func NewNodeThatPasses(t *testing.T, annotations string) *Node {
	t.Helper()
	return startNode(t, setup{passes: annotations})
}

// setup is what differs between nodes.
type setup struct {
	hasCgroups bool
	// passes are the annotations of Pods that containerd passes on beside the shim's own.
	passes string
	// install has the installer of the product configure the runtime.
	install bool
	// wraps has shims run gVisor through a script.
	wraps bool
}

func startNode(t *testing.T, with setup) *Node {
	t.Helper()
	// Paths of sockets are limited, so the folder is not the test's, which has its name.
	folder, err := os.MkdirTemp("", "shim")
	must(t, err)
	n := &Node{t: t, folder: folder, Socket: filepath.Join(folder, "node.sock"), runsc: program(t, "SANDLOT_RUNSC"), setup: with}
	t.Cleanup(n.removeFolder)
	n.writeConfiguration(serveImage(t), program(t, "SANDLOT_SHIM"))
	installed := func() {}
	if with.install {
		installed = n.install()
	}
	n.startContainerd(program(t, "SANDLOT_CONTAINERD"))
	installed()
	connection, err := grpc.NewClient("unix://"+n.address(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithConnectParams(connect))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	n.runtime = cri.NewRuntimeServiceClient(connection)
	_, err = cri.NewImageServiceClient(connection).PullImage(n.context(), &cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}}, grpc.WaitForReady(true))
	must(t, err)
	t.Cleanup(n.RemovePods)
	return n
}

func program(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("set %s: npm test -- --only runtime does it", variable)
	}
	return path
}

func (n *Node) address() string { return filepath.Join(n.folder, "containerd.sock") }

func (n *Node) log() string { return filepath.Join(n.folder, "containerd.log") }

// root is gVisor's for Pods.
func (n *Node) root() string { return filepath.Join(n.folder, "gvisor", namespace) }

func (n *Node) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	n.t.Cleanup(cancel)
	return ctx
}

func (n *Node) writeConfiguration(registry, shim string) {
	n.t.Helper()
	hosts := filepath.Join(n.folder, "hosts", "_default")
	must(n.t, os.MkdirAll(hosts, 0o755))
	runsc := n.runsc
	if n.setup.wraps {
		runsc = n.wrapper()
		n.Wrap("")
	}
	containerd := containerdConfiguration
	if !n.setup.install {
		containerd += runtimeConfiguration
	}
	for path, text := range map[string]string{
		filepath.Join(hosts, "hosts.toml"):         fmt.Sprintf("[host.%q]\ncapabilities = [\"pull\", \"resolve\"]\n", registry),
		filepath.Join(n.folder, "gvisor.toml"):     fmt.Sprintf(shimConfiguration, runsc, filepath.Join(n.folder, "gvisor"), strconv.FormatBool(!n.hasCgroups)),
		filepath.Join(n.folder, "containerd.toml"): strings.NewReplacer("FOLDER", n.folder, "IMAGE", image, "HANDLER", handler, "SHIM", shim, "PASSES", n.passes).Replace(containerd),
	} {
		must(n.t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// Without a network of their own, Pods need no plugin for it, and gVisor keeps away from the machine's network.
const shimConfiguration = `binary_name = %q
root = %q
[runsc_config]
platform = "systrap"
network = "none"
ignore-cgroups = %q
restore-spec-validation = "warning"
allow-rootfs-tar-annotation = "true"
`

const containerdConfiguration = `version = 3
imports = ["FOLDER/conf.d/*.toml"]
root = "FOLDER/root"
state = "FOLDER/state"
disabled_plugins = ["io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs"]
[debug]
level = "warn"
[grpc]
address = "FOLDER/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "FOLDER/opt"
[plugins."io.containerd.nri.v1.nri"]
disable = true
[plugins."io.containerd.cri.v1.images"]
snapshotter = "native"
use_local_image_pull = true
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "IMAGE"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "FOLDER/hosts"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
tolerate_missing_hugetlb_controller = true
disable_hugetlb_controller = true
[plugins."io.containerd.cri.v1.runtime".cni]
conf_dir = "FOLDER/cni"
`

const runtimeConfiguration = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.HANDLER]
runtime_type = "io.containerd.runsc.v1"
runtime_path = "SHIM"
pod_annotations = ["sandlot.dev/restore-snapshot", "PASSES"]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.HANDLER.options]
TypeUrl = "io.containerd.runsc.v1.options"
ConfigPath = "FOLDER/gvisor.toml"
`

func (n *Node) startContainerd(binary string) {
	n.t.Helper()
	log, err := os.Create(n.log())
	must(n.t, err)
	command := exec.Command(binary, "--config", filepath.Join(n.folder, "containerd.toml"))
	command.Env = append(os.Environ(), "SANDLOT_NODE_SOCKET="+n.Socket)
	command.Stdout, command.Stderr = log, log
	must(n.t, command.Start())
	n.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && n.t.Failed() {
			n.t.Logf("containerd's log:\n%s", text)
		}
	})
}

// RemovePods also removes those that a test has made and lost.
func (n *Node) RemovePods() {
	n.t.Helper()
	list, err := n.runtime.ListPodSandbox(n.context(), &cri.ListPodSandboxRequest{})
	if err != nil {
		n.t.Error(err)
		return
	}
	for _, item := range list.Items {
		_, _ = n.runtime.StopPodSandbox(n.context(), &cri.StopPodSandboxRequest{PodSandboxId: item.Id})
		if err := n.remove(item.Id); err != nil {
			n.t.Error(err)
		}
	}
}

// removeFolder ends what still runs of it.
func (n *Node) removeFolder() {
	for _, pid := range n.Processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], n.folder+"/") {
			_ = syscall.Unmount(fields[4], syscall.MNT_DETACH)
		}
	}
	n.removeCgroups()
	_ = os.RemoveAll(n.folder)
}

// Processes are those of Pods: shims, sandboxes, gofers, and commands of gVisor. containerd and the agent are none.
func (n *Node) Processes() []int {
	var found []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		isOther := strings.Contains(string(line), "containerd.toml") || strings.Contains(string(line), agentSocket)
		if strings.Contains(string(line), n.folder+"/") && !isOther {
			found = append(found, pid)
		}
	}
	return found
}

// WaitFor fails the test if the condition does not become true.
func (n *Node) WaitFor(what string, isTrue func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(Patience); !isTrue(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("no %s", what)
		}
	}
}
