package pod

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"gvisor.dev/gvisor/pkg/shim/v1/proc"
	"gvisor.dev/gvisor/pkg/shim/v1/runsc"
	"gvisor.dev/gvisor/pkg/shim/v1/runsccmd"
	"gvisor.dev/gvisor/pkg/shim/v1/utils"

	"sandlot.dev/node/shim/internal/agent"
)

// RestoreAnnotation names the SandboxSnapshot from which a Pod is started. containerd passes it on if its configuration
// lists it in `pod_annotations` of the handler.
const RestoreAnnotation = "sandlot.dev/restore-snapshot"

// The annotations by which containerd's CRI marks containers. No user can set them.
const (
	typeKey      = "io.kubernetes.cri.container-type"
	sandboxIDKey = "io.kubernetes.cri.sandbox-id"
	namespaceKey = "io.kubernetes.cri.sandbox-namespace"
	podNameKey   = "io.kubernetes.cri.sandbox-name"
	podUIDKey    = "io.kubernetes.cri.sandbox-uid"
	nameKey      = "io.kubernetes.cri.container-name"
	logsKey      = "io.kubernetes.cri.sandbox-log-directory"
)

// container is what the shim keeps of a container.
type container struct {
	id, bundle string
	// name is that in the Pod. The pause container has none.
	name string
	// sandbox is the id of the Pod's pause container.
	sandbox string
	// logs is the folder with the logs of the Pod. Only the pause container has it.
	logs string
	// restore is what the Pod is started from. Without a snapshot it starts as any other.
	restore agent.Restore
}

func (c container) isPause() bool { return c.id == c.sandbox }

func (c container) isRestored() bool { return c.restore.SnapshotUID != "" }

// restoringFile is there while the Pod is being restored, and after it failed. The shims of its other containers look for it:
// containerd has the folders of all containers side by side.
func (c container) restoringFile() string {
	return filepath.Join(c.pauseFolder(), "sandlot-restoring")
}

// pauseFolder is that of the Pod's pause container.
func (c container) pauseFolder() string { return filepath.Join(filepath.Dir(c.bundle), c.sandbox) }

func (c container) isRestoring() bool {
	_, err := os.Stat(c.restoringFile())
	return c.isRestored() && err == nil
}

// restoredFile is there once the Pod was restored. The folder with the logs of a Pod outlives its sandbox and the node's
// restart, and goes with the Pod.
func (c container) restoredFile() string { return filepath.Join(c.logs, "sandlot-restored") }

// wasRestored reports whether an earlier sandbox of this Pod was restored. The snapshot is used up then, and the Pod starts
// as every other Pod whose sandbox ended.
func (c container) wasRestored() bool {
	_, err := os.Stat(c.restoredFile())
	return c.logs != "" && err == nil
}

func (c container) markRestored() error {
	if c.logs != "" {
		if err := os.WriteFile(c.restoredFile(), nil, 0o600); err != nil {
			return err
		}
	}
	return os.Remove(c.restoringFile())
}

func readContainer(id, bundle string) (container, error) {
	spec, err := utils.ReadSpec(bundle)
	if err != nil {
		return container{}, fmt.Errorf("read the OCI configuration of container %s: %w", id, err)
	}
	return decideContainer(id, bundle, spec.Annotations), nil
}

// decideContainer takes a container that is not of a Pod as one that stands for itself.
func decideContainer(id, bundle string, annotations map[string]string) container {
	c := container{id: id, bundle: bundle, name: annotations[nameKey], sandbox: annotations[sandboxIDKey], logs: annotations[logsKey]}
	if annotations[typeKey] != "container" || c.sandbox == "" {
		c.sandbox = id
	}
	if annotations[podUIDKey] == "" {
		return c
	}
	c.restore = agent.Restore{
		Namespace:   annotations[namespaceKey],
		PodName:     annotations[podNameKey],
		PodUID:      annotations[podUIDKey],
		SnapshotUID: annotations[RestoreAnnotation],
	}
	return c
}

// endedPausedFile is there after the sandbox of the Pod ended while it stood still. A hibernation may have the memory of the
// Pod: a kubelet that starts the Pod anew, for example after a failed probe, must not make it change its disks.
func (c container) endedPausedFile() string { return filepath.Join(c.logs, "sandlot-ended-paused") }

func (c container) hasEndedPaused() bool {
	_, err := os.Stat(c.endedPausedFile())
	return c.logs != "" && c.restore.PodUID != "" && err == nil
}

// readPause returns the pause container of the container's Pod.
func (c container) readPause() (container, error) {
	if c.isPause() {
		return c, nil
	}
	return readContainer(c.sandbox, filepath.Join(filepath.Dir(c.bundle), c.sandbox))
}

// settings are the options with which gVisor's shim made the container.
func (c container) settings() (runsc.Options, error) {
	var state runsc.State
	if err := state.Load(c.bundle); err != nil {
		return runsc.Options{}, fmt.Errorf("read the shim's options of container %s: %w", c.id, err)
	}
	return state.Options, nil
}

// command returns gVisor's command line for the container.
func (c container) command(ctx context.Context) (*runsccmd.Runsc, error) {
	namespace, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return nil, err
	}
	options, err := c.settings()
	if err != nil {
		return nil, err
	}
	return proc.NewRunsc(options.Root, c.bundle, namespace, options.BinaryName, options.RunscConfig, nil), nil
}

// validationFlag decides whether a Pod that differs from the saved one may be restored. Every Pod does: the path of its
// cgroup contains its UID.
const validationFlag = "restore-spec-validation"

// checkValidation refuses a restore that gVisor would refuse after the snapshot is used up.
func checkValidation(options runsc.Options) error {
	switch value := options.RunscConfig[validationFlag]; value {
	case "warning", "ignore":
		return nil
	default:
		return fmt.Errorf("gVisor on this node restores no Pod from a snapshot, because %s is %q: set %s = \"warning\" in [runsc_config] of the shim's configuration file", validationFlag, value, validationFlag)
	}
}
