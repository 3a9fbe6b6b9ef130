package pod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sandlot.dev/node/shim/internal/agent"
)

// absenceLimit is how long a Pod that began beside an agent waits for one. After a restart of the node the agent's image may have to
// be pulled first. A node that hibernates no more starts its Pods anew after that.
const absenceLimit = 10 * time.Minute

// besideAgent is the text of the begunFile of a Pod on a node that has an agent.
const besideAgent = "beside an agent"

// begunFile is there once a sandbox of the Pod has started.
func (c container) begunFile() string { return filepath.Join(c.logs, "sandlot-begun") }

func (c container) isOfPod() bool { return c.logs != "" && c.restore.PodUID != "" }

func (c container) hadSandbox() bool {
	_, err := os.Stat(c.begunFile())
	return c.isOfPod() && err == nil
}

// markBegun does without the note where there is no folder for logs: such a Pod is not a kubelet's.
func (c container) markBegun(hasAgent bool) error {
	if !c.isOfPod() {
		return nil
	}
	text := ""
	if hasAgent {
		text = besideAgent
	}
	if err := os.WriteFile(c.begunFile(), []byte(text), 0o600); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// missesAgentFile is as old as the first start that was refused because the agent is absent.
func (c container) missesAgentFile() string { return filepath.Join(c.logs, "sandlot-misses-agent") }

// waitsForAgent reports whether a start without an agent is too early.
func (c container) waitsForAgent() (bool, error) {
	text, err := os.ReadFile(c.begunFile())
	if err != nil || string(text) != besideAgent {
		return false, err
	}
	file, err := os.OpenFile(c.missesAgentFile(), os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	return err == nil && time.Since(info.ModTime()) < absenceLimit, err
}

func (c container) stopWaiting() error {
	if err := os.Remove(c.missesAgentFile()); !errors.Is(err, fs.ErrNotExist) {
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
		return c.markBegun(s.agent.HasSocket())
	}
	err := s.agent.Start(ctx, c.restore.PodUID)
	switch {
	case err == nil:
		return errors.Join(c.markBegun(true), c.stopWaiting())
	case agent.IsAbsent(err):
		// A node that never had the socket saves no Pods.
		waits, failure := c.waitsForAgent()
		if !waits && failure == nil {
			return c.stopWaiting()
		}
		if waits {
			return fmt.Errorf("start Pod %s/%s, which had a sandbox before: %w; without an agent it starts anew %d minutes after the first attempt",
				c.restore.Namespace, c.restore.PodName, err, int(absenceLimit.Minutes()))
		}
	}
	return fmt.Errorf("start Pod %s/%s, which had a sandbox before: %w", c.restore.Namespace, c.restore.PodName, err)
}
