package pod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sandlot.dev/node/shim/internal/agent"
)

// begunFile is there once a sandbox of the Pod has started.
func (c container) begunFile() string { return filepath.Join(c.logs, "sandlot-begun") }

func (c container) isOfPod() bool { return c.logs != "" && c.restore.PodUID != "" }

func (c container) hadSandbox() bool {
	_, err := os.Stat(c.begunFile())
	return c.isOfPod() && err == nil
}

// markBegun does without the note where there is no folder for logs: such a Pod is not a kubelet's.
func (c container) markBegun() error {
	if !c.isOfPod() {
		return nil
	}
	if err := os.WriteFile(c.begunFile(), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// allowStart asks the agent whether a Pod that had a sandbox before may start anew. While a hibernation has its memory, its
// programs must not change the disks. A sandbox or shim that was killed leaves no note that the Pod stood still, so every
// second sandbox asks.
func (s *Service) allowStart(ctx context.Context, c container) error {
	if c.hasEndedPaused() {
		if err := s.agent.Start(ctx, c.restore.PodUID); err != nil {
			return fmt.Errorf("start Pod %s/%s, whose sandbox ended while it was paused: %w", c.restore.Namespace, c.restore.PodName, err)
		}
		return os.Remove(c.endedPausedFile())
	}
	if !c.hadSandbox() {
		return c.markBegun()
	}
	// A node without the agent's socket saves no Pods. After a restart of the node, the socket is missing until the agent runs.
	if err := s.agent.Start(ctx, c.restore.PodUID); err != nil && !agent.IsAbsent(err) {
		return fmt.Errorf("start Pod %s/%s, which had a sandbox before: %w", c.restore.Namespace, c.restore.PodName, err)
	}
	return nil
}
