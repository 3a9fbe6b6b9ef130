package installer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startSystemd has a real systemd start the program as containerd.service, and waits until that serves. systemd is one of a user,
// which has the same interface, and sees a /run of its own.
func (n *node) startSystemd(program string) {
	n.t.Helper()
	_ = n.listener.Close()
	n.Unit = "containerd.service"
	folder := filepath.Dir(filepath.Dir(n.Systemd))
	units := filepath.Join(folder, "units")
	n.write(filepath.Join(units, "basic.target"), "[Unit]\nDefaultDependencies=no\n")
	n.write(filepath.Join(units, n.Unit), "[Unit]\nDefaultDependencies=no\n[Service]\nTimeoutStopSec=10\nExecStart="+program+"\n")
	n.write(filepath.Join(folder, "start"), `set -e
mount -t tmpfs none /run
mkdir -p /run/systemd/system
for cgroup in `+strings.Join(n.makeCgroups(), " ")+`; do echo 0 > $cgroup/cgroup.procs; done
exec /lib/systemd/systemd --user --unit=`+n.Unit+`
`)
	command := exec.Command("unshare", "--mount", "/bin/sh", filepath.Join(folder, "start"))
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+folder, "SYSTEMD_UNIT_PATH="+units, "SYSTEMD_LOG_TARGET=console")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		n.t.Fatalf("install systemd and util-linux: %v", err)
	}
	n.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for deadline := time.Now().Add(patience); !n.serves(n.t.Context()) || !exists(n.Systemd); time.Sleep(poll) {
		if time.Now().After(deadline) {
			n.t.Fatal("systemd starts no containerd")
		}
	}
}

// makeCgroups makes one for systemd in each hierarchy that it may use: it moves all processes of the cgroup that it starts in.
func (n *node) makeCgroups() []string {
	n.t.Helper()
	var made []string
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		if exists(filepath.Join(hierarchy, "cgroup.procs")) {
			made = append(made, filepath.Join(hierarchy, filepath.Base(filepath.Dir(n.Source))))
		}
	}
	n.t.Cleanup(func() {
		for _, cgroup := range made {
			removeCgroup(cgroup)
		}
	})
	for _, cgroup := range made {
		if err := os.Mkdir(cgroup, 0o755); err != nil {
			n.t.Fatal(err)
		}
	}
	return made
}

// removeCgroup ends what runs in it. Processes leave it shortly after their end.
func removeCgroup(cgroup string) {
	for deadline := time.Now().Add(patience); exists(cgroup) && time.Now().Before(deadline); time.Sleep(poll) {
		var folders []string
		_ = filepath.WalkDir(cgroup, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
				killAll(filepath.Join(path, "cgroup.procs"))
			}
			return nil
		})
		slices.Reverse(folders)
		for _, folder := range folders {
			_ = syscall.Rmdir(folder)
		}
	}
}

// killAll ends what systemd started: it does not end with it.
func killAll(list string) {
	text, _ := os.ReadFile(list)
	for _, line := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writeContainerd writes a configuration with which containerd keeps to the node's folder.
func (n *node) writeContainerd() (program string) {
	n.t.Helper()
	folder := filepath.Dir(n.Source)
	n.write(n.Config, fmt.Sprintf(`version = 3
root = "%[1]s/root"
state = "%[1]s/state"
imports = ["%[2]s/*.toml"]
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.snapshotter.v1.overlayfs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
address = "%[3]s"
`, folder, n.DropIns, n.Socket))
	return containerd(n.t) + " --config " + n.Config
}

func (n *node) installWithSystemd() (Outcome, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), 2*patience)
	defer cancel()
	return Install(ctx, n.Settings)
}

func TestSystemdRestartsContainerdOnceAndOnlyForAChange(t *testing.T) {
	n := newNode(t)
	n.startSystemd(n.writeContainerd())
	before, err := n.readStart()
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := n.installWithSystemd()
	if err != nil || !outcome.Restarted {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	restarted, err := n.readStart()
	if err != nil || restarted == before {
		t.Errorf("containerd runs as before: %+v, %v", restarted, err)
	}
	if outcome, err := n.installWithSystemd(); err != nil || outcome.Restarted {
		t.Errorf("got %+v, %v", outcome, err)
	}
	if now, err := n.readStart(); err != nil || now != restarted {
		t.Errorf("containerd was restarted for nothing: %+v, %v", now, err)
	}
	if err := n.remove(); err != nil {
		t.Error(err)
	}
	if now, err := n.readStart(); err != nil || now == restarted {
		t.Errorf("containerd knows the runtime that was removed: %v", err)
	}
}

func TestContainerdThatDoesNotStartGetsBackWhatItHad(t *testing.T) {
	n := newNode(t)
	script := filepath.Join(filepath.Dir(n.Source), "containerd.sh")
	n.write(script, fmt.Sprintf("test ! -e %s || exit 1\nexec %s\n", n.dropIn(), n.writeContainerd()))
	n.startSystemd("/bin/sh " + script)
	config := n.read(n.Config)
	n.MostRestart = 5 * time.Second
	_, err := n.installWithSystemd()
	if _, notStarted := errors.AsType[*NotStartedError](err); !notStarted {
		t.Fatalf("got %v", err)
	}
	if exists(n.dropIn()) || exists(n.pending()) || n.read(n.Config) != config {
		t.Error("the configuration is not as before")
	}
	if !n.serves(t.Context()) {
		t.Error("containerd does not serve")
	}
}

func TestSystemdThatRefusesChangesNothingOfContainerd(t *testing.T) {
	n := newNode(t)
	n.startSystemd(n.writeContainerd())
	n.Unit = "absent.service"
	before, err := n.readStart()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.installWithSystemd(); err == nil || errors.As(err, new(*NotStartedError)) {
		t.Errorf("got %v", err)
	}
	if now, err := n.readStart(); err != nil || now != before {
		t.Errorf("containerd was restarted: %v", err)
	}
	if due, err := n.isRestartDue(); err != nil || !due {
		t.Errorf("the restart is forgotten: %v", err)
	}
}
