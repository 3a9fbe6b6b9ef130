package installer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// mostPoll is how often Remove looks whether sandboxes still run.
const mostPoll = 5 * time.Second

// Remove takes everything of the installer off the node, once no sandbox runs. It can die at every step: the next one goes on.
func Remove(ctx context.Context, s Settings) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.readDropIn(); err != nil {
		return err
	}
	if err := s.waitForEnd(ctx); err != nil {
		return err
	}
	if err := s.removeConfiguration(ctx); err != nil {
		return err
	}
	// The link goes first: a Pod that starts now fails, and does not begin with half a version.
	if err := remove(s.current()); err != nil {
		return err
	}
	if err := s.prune(""); err != nil {
		return err
	}
	for _, name := range []string{versionsName, currentName + partialSuffix, pendingName, pendingName + partialSuffix} {
		if err := remove(filepath.Join(s.Folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) waitForEnd(ctx context.Context) error {
	for {
		sandboxes, err := s.countSandboxes()
		if err != nil || sandboxes == 0 {
			return err
		}
		slog.Warn("sandboxes run in gVisor: drain the node", "containers", sandboxes)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(mostPoll):
		}
	}
}

func (s Settings) removeConfiguration(ctx context.Context) error {
	if present, err := os.ReadFile(s.dropIn()); err == nil && len(present) > 0 {
		if err := s.notePending(); err != nil {
			return err
		}
	}
	if err := remove(s.dropIn()); err != nil {
		return err
	}
	if err := s.removeImport(); err != nil {
		return err
	}
	for _, path := range []string{s.dropIn(), s.Config, s.Config + backupSuffix} {
		// The folder of the configuration is writable only where an import may have been added.
		if err := remove(path + partialSuffix); err != nil && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	due, err := s.isRestartDue()
	if err != nil || !due {
		return err
	}
	if s.Unit == "" {
		slog.Info("containerd forgets the runtime when it restarts")
		return nil
	}
	return s.restart(ctx)
}
