package shimtest

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// count is a program that counts in memory, and shows the number in a file.
const count = `i=0; while true; do i=$((i+1)); echo $i > /tmp/new; busybox mv /tmp/new /tmp/count; busybox sleep 0.02; done`

// Worker is the name of a Pod's container.
const Worker = "worker"

// Pod is a Pod with a container that counts.
type Pod struct {
	// Sandbox and Worker are ids of containers.
	Sandbox, Worker string
	node            *Node
	configuration   *cri.PodSandboxConfig
}

// RunPod starts a Pod as far as its pause container.
func (n *Node) RunPod(uid string, annotations map[string]string) (*Pod, error) {
	configuration := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Namespace: "team", Name: "analyst-1", Uid: uid},
		LogDirectory: filepath.Join(n.folder, "logs", uid),
		Annotations:  annotations,
		Linux: &cri.LinuxPodSandboxConfig{CgroupParent: n.cgroupOf(uid), SecurityContext: &cri.LinuxSandboxSecurityContext{
			NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE},
		}},
	}
	started, err := n.runtime.RunPodSandbox(n.context(), &cri.RunPodSandboxRequest{Config: configuration, RuntimeHandler: handler})
	if err != nil {
		return nil, err
	}
	return &Pod{node: n, Sandbox: started.PodSandboxId, configuration: configuration}, nil
}

// StartWorker starts the container under this name.
func (p *Pod) StartWorker(name string) error {
	return p.StartWorkerAs(name, "/bin/sh", "-c", count)
}

// StartWorkerAs starts the container under this name with this command.
func (p *Pod) StartWorkerAs(name string, command ...string) error {
	ctx := p.node.context()
	created, err := p.node.runtime.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId:  p.Sandbox,
		SandboxConfig: p.configuration,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: name},
			Image:    &cri.ImageSpec{Image: image},
			Command:  command,
			LogPath:  name + ".log",
			Linux:    &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{NamespaceOptions: p.configuration.Linux.SecurityContext.NamespaceOptions}},
		},
	})
	if err != nil {
		return err
	}
	p.Worker = created.ContainerId
	_, err = p.node.runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: p.Worker})
	return err
}

// StartPod starts a Pod that counts.
func (n *Node) StartPod(uid string, annotations map[string]string) *Pod {
	n.t.Helper()
	p, err := n.RunPod(uid, annotations)
	must(n.t, err)
	must(n.t, p.StartWorker(Worker))
	n.WaitFor("a first count", func() bool { return p.Count() > 0 })
	return p
}

// Count is the number that the Pod has in memory.
func (p *Pod) Count() int {
	number, _ := strconv.Atoi(strings.TrimSpace(p.Exec("busybox", "cat", "/tmp/count")))
	return number
}

// Exec runs a program in the container and returns its output; empty: it failed.
func (p *Pod) Exec(command ...string) string {
	answer, err := p.node.runtime.ExecSync(p.node.context(), &cri.ExecSyncRequest{ContainerId: p.Worker, Cmd: command, Timeout: int64(Patience.Seconds())})
	if err != nil {
		return ""
	}
	return string(answer.Stdout)
}

// Pause makes the Pod stand still.
func (p *Pod) Pause() {
	p.node.t.Helper()
	p.node.command("pause", p.Sandbox)
}

// Save pauses the Pod and writes its memory to a folder. It stays paused.
func (p *Pod) Save() string {
	p.node.t.Helper()
	p.Pause()
	folder := filepath.Join(p.node.folder, "snapshot")
	p.node.command("checkpoint", "--image-path", folder, "--compression", "none", "--leave-running", p.Sandbox)
	return folder
}

// SaveFiles writes the changed files of the container to a tar.
func (p *Pod) SaveFiles() string {
	p.node.t.Helper()
	path := filepath.Join(p.node.folder, "files.tar")
	p.node.command("tar", "rootfs-upper", "--file", path, p.Worker)
	return path
}

func (n *Node) command(args ...string) {
	n.t.Helper()
	flags := []string{"--root", n.root(), "--platform=systrap", "--network=none", "--ignore-cgroups"}
	if said, err := exec.Command(n.runsc, append(flags, args...)...).CombinedOutput(); err != nil {
		n.t.Fatalf("runsc %v: %v\n%s", args, err, said)
	}
}

// StopWorker asks the container to end, as the kubelet does with a Pod that is deleted: politely, and by force after the
// grace. The grace is longer than the test waits.
func (p *Pod) StopWorker() error {
	_, err := p.node.runtime.StopContainer(p.node.context(), &cri.StopContainerRequest{ContainerId: p.Worker, Timeout: int64(10 * Patience.Seconds())})
	return err
}

// Delete ends the Pod and removes it.
func (p *Pod) Delete() error {
	_, stopped := p.node.runtime.StopPodSandbox(p.node.context(), &cri.StopPodSandboxRequest{PodSandboxId: p.Sandbox})
	if err := errors.Join(stopped, p.node.remove(p.Sandbox)); err != nil {
		return fmt.Errorf("delete Pod %s: %w", p.Sandbox, err)
	}
	return nil
}

// remove tries again, as the kubelet does: containerd refuses until it has seen to the end of each container.
func (n *Node) remove(sandbox string) error {
	for ctx := n.context(); ; time.Sleep(20 * time.Millisecond) {
		_, err := n.runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: sandbox})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}
