package save

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sandlot.dev/node/internal/runsc"
)

// checkContainers returns an error if a container of the Pod has ended since the save began, and a runsc.AbsentError if the
// whole Pod has. gVisor saves a container whose processes were just killed as if it ran, and a Pod that goes on from that has a
// container which ends at once.
func (s *Saver) checkContainers(ctx context.Context, began runsc.Pod) error {
	pod, err := s.Runsc.FindPod(ctx, began.PodName)
	if err != nil {
		return err
	}
	for _, name := range began.Containers {
		if slices.Contains(pod.Containers, name) {
			continue
		}
		// FindPod asks one container after the other. A sandbox that ends in between looks like a container that ended in it.
		if _, err := s.Runsc.FindSandbox(ctx, began.PodName); err != nil {
			return err
		}
		return fmt.Errorf("container %s of Pod %s/%s ended while its memory was saved", name, pod.Namespace, pod.Name)
	}
	return nil
}

// checkAfterwards does what checkContainers does for a Pod that went on after its save: the end of a container may have waited
// for that. A Pod that is gone altogether proves nothing against its memory, which may be all that is left of it.
func (s *Saver) checkAfterwards(ctx context.Context, what savable) error {
	if what.request.pauses() || !what.request.keepsMemory() {
		return nil
	}
	err := s.checkContainers(ctx, what.pod)
	if absent := (*runsc.AbsentError)(nil); errors.As(err, &absent) {
		return nil
	}
	return err
}
