package installer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
)

// Outcome is what an installation did.
type Outcome struct {
	// Version is the one that new Pods get.
	Version string
	// Waiting is another one that is installed, and used once no sandbox runs; empty: none.
	Waiting string
	// Changed says that files of the node were changed. Restarted says that containerd was restarted.
	Changed, Restarted bool
}

// NotStartedError says that containerd does not start with its new configuration, which was taken back. To try again would stop it
// again.
type NotStartedError struct{ Err error }

func (e *NotStartedError) Error() string {
	return fmt.Sprintf("containerd did not start with the new runtime, so its configuration is as before: %v", e.Err)
}

func (e *NotStartedError) Unwrap() error { return e.Err }

// Install brings the node to what the settings say. It can die at every step: the next one goes on.
func Install(ctx context.Context, s Settings) (Outcome, error) {
	unlock, err := s.lock()
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	// Everything that may be refused comes before the first change.
	v, err := s.describe()
	if err != nil {
		return Outcome{}, err
	}
	change, err := s.planConfiguration()
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := s.installVersion(v)
	if err != nil {
		return outcome, err
	}
	changed, err := s.applyConfiguration(change)
	outcome.Changed = outcome.Changed || changed
	if err != nil {
		return outcome, err
	}
	outcome.Restarted, err = s.restartIfDue(ctx, change)
	return outcome, err
}

// installVersion makes Pods use the version. While sandboxes run, those go on with their version, and so do their nodes: a
// container of a Pod that restarts must not meet a sandbox of another version, and the agent saves with the version that it
// finds.
func (s Settings) installVersion(v version) (Outcome, error) {
	changed, err := s.put(v)
	if err != nil {
		return Outcome{}, err
	}
	current, err := s.readCurrent()
	if err != nil {
		return Outcome{}, err
	}
	sandboxes, err := s.countSandboxes()
	if err != nil {
		return Outcome{}, err
	}
	if current != "" && current != v.name && sandboxes > 0 {
		slog.Warn("sandboxes run, so the node keeps the version that it has: drain it, and delete this Pod", "containers", sandboxes, "version", current, "waiting", v.name)
		return Outcome{Version: current, Waiting: v.name, Changed: changed}, nil
	}
	if current != v.name {
		changed = true
		if err := s.switchTo(v.name); err != nil {
			return Outcome{}, err
		}
	}
	if sandboxes == 0 {
		err = s.prune(v.name)
	}
	return Outcome{Version: v.name, Changed: changed}, err
}

// configuration is what shall change of containerd's, and how it is now.
type configuration struct {
	main           mainConfig
	withImport     []byte
	dropIn, before []byte
}

func (s Settings) planConfiguration() (configuration, error) {
	main, err := s.readConfig()
	if err != nil {
		return configuration{}, err
	}
	before, err := s.readDropIn()
	if err != nil {
		return configuration{}, err
	}
	if _, err := s.readCurrent(); err != nil {
		return configuration{}, err
	}
	change := configuration{main: main, dropIn: s.formatDropIn(main.version), before: before}
	if !main.reads(s.Config, s.dropIn()) {
		change.withImport, err = s.withImport(main)
	}
	return change, err
}

func (s Settings) applyConfiguration(change configuration) (changed bool, err error) {
	if change.withImport == nil && string(change.dropIn) == string(change.before) {
		return false, nil
	}
	if err := s.notePending(); err != nil {
		return false, err
	}
	if err := makeFolder(s.DropIns); err != nil {
		return false, err
	}
	if _, err := placeText(s.dropIn(), change.dropIn, 0o644); err != nil {
		return true, err
	}
	if change.withImport == nil {
		return true, nil
	}
	return true, s.addImport(change.main, change.withImport)
}

// restartIfDue returns when containerd knows the runtime.
func (s Settings) restartIfDue(ctx context.Context, change configuration) (restarted bool, err error) {
	due, err := s.isRestartDue()
	if err != nil {
		return false, err
	}
	if due && s.Unit == "" {
		slog.Warn("containerd does not know the runtime yet: restart it on this node (systemctl restart containerd). Pods go on meanwhile")
		if err := s.waitForRestart(ctx); err != nil {
			return false, err
		}
	} else if due {
		if err := s.restart(ctx); err != nil {
			return true, s.takeBack(ctx, change, err)
		}
		restarted = true
	}
	return restarted, remove(s.pending())
}

// takeBack gives containerd the configuration that it ran with: without it no Pod of the node starts.
func (s Settings) takeBack(ctx context.Context, change configuration, reason error) error {
	if ctx.Err() != nil || s.serves(ctx) {
		return reason
	}
	slog.Error("containerd does not start: taking the new runtime back", "error", reason)
	var err error
	if change.before == nil {
		err = remove(s.dropIn())
	} else {
		_, err = placeText(s.dropIn(), change.before, 0o644)
	}
	err = errors.Join(err, s.removeImport())
	return &NotStartedError{Err: errors.Join(reason, err, s.restart(ctx), remove(s.pending()))}
}

// lock keeps two installers of a node apart. The lock ends with the process.
func (s Settings) lock() (unlock func(), err error) {
	if err := makeFolder(s.Folder); err != nil {
		return nil, err
	}
	folder, err := os.Open(s.Folder)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}
