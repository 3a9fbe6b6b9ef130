package runsc

import (
	"context"
	"fmt"
	"slices"
)

// The annotations by which containerd's CRI marks containers.
const (
	typeKey      = "io.kubernetes.cri.container-type"
	namespaceKey = "io.kubernetes.cri.sandbox-namespace"
	podNameKey   = "io.kubernetes.cri.sandbox-name"
	podUIDKey    = "io.kubernetes.cri.sandbox-uid"
	sandboxIDKey = "io.kubernetes.cri.sandbox-id"
	containerKey = "io.kubernetes.cri.container-name"
)

// The states of a container that matter here.
const (
	Running = "running"
	Paused  = "paused"
)

// Container is an entry of runsc list.
type Container struct {
	ID          string            `json:"id"`
	Status      string            `json:"status"`
	Annotations map[string]string `json:"annotations"`
}

// PodName says which Pod is meant.
type PodName struct {
	Namespace, Name, UID string
}

// Pod is a Pod that gVisor runs.
type Pod struct {
	PodName
	// Sandbox is the id of the pause container, which stands for the whole Pod.
	Sandbox string
	// Status is that of the pause container: only its own follows Pause and Resume.
	Status string
	// Containers are the names of the others that have not ended.
	Containers []string
}

// AbsentError means that no such Pod runs in gVisor on this node.
type AbsentError struct {
	PodName
}

func (e *AbsentError) Error() string {
	return fmt.Sprintf("no Pod %s/%s with UID %s runs in gVisor on this node: it has ended, or runs on another node or with another runtime class", e.Namespace, e.Name, e.UID)
}

// FindPod returns the Pod of this name and UID, or an AbsentError. It asks the sandbox of this Pod only: a list asks every
// one of the node, and would wait for each that is slow or being saved.
func (r Runsc) FindPod(ctx context.Context, name PodName) (Pod, error) {
	return r.find(ctx, name, func(Container) bool { return true })
}

// FindSandbox does what FindPod does, without the names of the containers. It asks for the state of the pause container only:
// of another one that gVisor deletes while the sandbox is paused there is no answer.
func (r Runsc) FindSandbox(ctx context.Context, name PodName) (Pod, error) {
	return r.find(ctx, name, func(c Container) bool { return c.Annotations[typeKey] == "sandbox" })
}

func (r Runsc) find(ctx context.Context, name PodName, isAsked func(Container) bool) (Pod, error) {
	found, isComplete := r.findContainers(name)
	if !isComplete {
		containers, err := r.List(ctx)
		if err != nil {
			return Pod{}, err
		}
		return decidePod(containers, name)
	}
	var containers []Container
	for _, one := range found {
		if !isAsked(one) {
			continue
		}
		c, err := r.State(ctx, one.ID)
		switch {
		case err == nil:
			containers = append(containers, c)
		case ctx.Err() != nil || r.hasStateFile(one.ID):
			return Pod{}, err
		}
	}
	return decidePod(containers, name)
}

// HasPod reports whether one of the containers is of the Pod with this UID.
func HasPod(containers []Container, podUID string) bool {
	return slices.ContainsFunc(containers, func(c Container) bool { return c.Annotations[podUIDKey] == podUID })
}

// decidePod picks the Pod's containers. A Pod whose pause container was replaced has two with the same name; one runs.
func decidePod(containers []Container, name PodName) (Pod, error) {
	pod := Pod{PodName: name}
	for _, c := range containers {
		if c.Annotations[typeKey] == "sandbox" && isOf(c, name) && isAlive(c) {
			pod.Sandbox, pod.Status = c.ID, c.Status
		}
	}
	if pod.Sandbox == "" {
		return Pod{}, &AbsentError{name}
	}
	for _, c := range containers {
		if c.Annotations[typeKey] == "container" && c.Annotations[sandboxIDKey] == pod.Sandbox && isAlive(c) {
			pod.Containers = append(pod.Containers, c.Annotations[containerKey])
		}
	}
	return pod, nil
}

func isOf(c Container, name PodName) bool {
	return c.Annotations[namespaceKey] == name.Namespace && c.Annotations[podNameKey] == name.Name && c.Annotations[podUIDKey] == name.UID
}

func isAlive(c Container) bool {
	return c.Status == Running || c.Status == Paused
}
