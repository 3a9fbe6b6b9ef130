package installer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	pendingName = "restart-pending.json"
	bootFile    = "/proc/sys/kernel/random/boot_id"
	poll        = 100 * time.Millisecond
)

// start identifies one start of containerd: it makes its socket anew. It is the same for as long as containerd runs.
type start struct {
	Boot          string
	Inode         uint64
	Seconds, Nano int64
}

func (s Settings) readStart() (start, error) {
	boot, err := os.ReadFile(bootFile)
	if err != nil {
		return start{}, err
	}
	found := start{Boot: strings.TrimSpace(string(boot))}
	info, err := os.Lstat(s.Socket)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return start{}, err
	}
	if detail, known := info.Sys().(*syscall.Stat_t); known {
		found.Inode, found.Seconds, found.Nano = detail.Ino, int64(detail.Ctim.Sec), int64(detail.Ctim.Nsec)
	}
	return found, nil
}

func (s Settings) pending() string { return filepath.Join(s.Folder, pendingName) }

// notePending records, before containerd's configuration changes, which start of containerd does not know the change. So a
// restart is still due after the death of the installer, and is not if containerd was restarted meanwhile.
func (s Settings) notePending() error {
	now, err := s.readStart()
	if err != nil {
		return err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	_, err = placeText(s.pending(), text, 0o644)
	return err
}

// isRestartDue reports whether containerd still runs as it did when its configuration changed.
func (s Settings) isRestartDue() (bool, error) {
	text, err := os.ReadFile(s.pending())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var before start
	if err := json.Unmarshal(text, &before); err != nil {
		return false, fmt.Errorf("read %s: %w", s.pending(), err)
	}
	now, err := s.readStart()
	return now == before || now.Inode == 0, err
}

// waitForRestart returns when containerd has started anew and serves.
func (s Settings) waitForRestart(ctx context.Context) error {
	for {
		due, err := s.isRestartDue()
		if err != nil {
			return err
		}
		if !due && s.serves(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

func (s Settings) serves(ctx context.Context) bool {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", s.Socket)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

// restart has systemd restart containerd, and waits until it serves.
func (s Settings) restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.MostRestart)
	defer cancel()
	if err := s.askSystemd(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", s.Unit, err)
	}
	if err := s.waitForRestart(ctx); err != nil {
		return fmt.Errorf("%s does not serve at %s after its restart: %w", s.Unit, s.Socket, err)
	}
	return nil
}

// askSystemd speaks to systemd itself, and not to the message bus, whose AppArmor rules keep containers out. systemd lets
// root restart units, also one without capabilities.
func (s Settings) askSystemd(ctx context.Context) error {
	connection, err := dbus.Dial("unix:path="+s.Systemd, dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.Auth([]dbus.Auth{dbus.AuthExternal("0")}); err != nil {
		return err
	}
	manager := connection.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	return manager.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.RestartUnit", 0, s.Unit, "replace").Err
}
