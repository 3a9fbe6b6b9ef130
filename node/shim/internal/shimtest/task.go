package shimtest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	task "github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/ttrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Kill sends the signal to the containers at the same time, and returns when their shims have answered: containerd waits for
// more.
func (n *Node) Kill(signal syscall.Signal, containers ...string) error {
	n.t.Helper()
	ctx := namespaces.WithNamespace(n.context(), namespace)
	shims := make([]task.TaskService, len(containers))
	// A shim goes with its container, so all are found before the first is asked.
	for i, container := range containers {
		shims[i] = n.shimOf(container)
	}
	answers := make(chan error)
	for i, container := range containers {
		go func() {
			_, err := shims[i].Kill(ctx, &task.KillRequest{ID: container, Signal: uint32(signal)})
			answers <- err
		}()
	}
	var failures []error
	for range containers {
		// As for containerd, a container that has ended, or has gone with its shim, is killed.
		if err := <-answers; status.Code(err) != codes.NotFound && !errors.Is(err, ttrpc.ErrClosed) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// shimOf returns the shim of the container.
func (n *Node) shimOf(container string) task.TaskService {
	n.t.Helper()
	address, err := os.ReadFile(filepath.Join(n.folder, "state", "io.containerd.runtime.v2.task", namespace, container, "address"))
	must(n.t, err)
	connection, err := net.Dial("unix", strings.TrimPrefix(string(address), "unix://"))
	must(n.t, err)
	client := ttrpc.NewClient(connection)
	n.t.Cleanup(func() { _ = client.Close() })
	return task.NewTaskClient(client)
}

// HasExited reports whether containerd knows that the container has ended.
func (n *Node) HasExited(container string) bool {
	answer, err := n.runtime.ContainerStatus(n.context(), &cri.ContainerStatusRequest{ContainerId: container})
	return err == nil && answer.Status.State == cri.ContainerState_CONTAINER_EXITED
}

// ExpectLogWithout fails the test if one of the texts is in containerd's log, which has the shims' too.
func (n *Node) ExpectLogWithout(texts ...string) {
	n.t.Helper()
	log, err := os.ReadFile(n.log())
	must(n.t, err)
	for _, text := range texts {
		if strings.Contains(string(log), text) {
			n.t.Errorf("containerd's log has %q", text)
		}
	}
}

// States are the files in which gVisor keeps what it knows of containers.
func (n *Node) States() []string {
	found, _ := filepath.Glob(filepath.Join(n.root(), "*.state"))
	return found
}
