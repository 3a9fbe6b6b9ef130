package installer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestInstallsOnANode(t *testing.T) {
	n := newNode(t)
	outcome, restarts, err := n.install()
	if err != nil {
		t.Fatal(err)
	}
	if !outcome.Changed || outcome.Restarted || outcome.Waiting != "" || restarts != 1 {
		t.Errorf("got %+v, %d restarts", outcome, restarts)
	}
	folder := filepath.Join(n.Folder, "versions", outcome.Version)
	for path, want := range map[string]string{
		n.current() + "/runsc":                    "runsc 1",
		n.current() + "/containerd-shim-runsc-v1": "shim 1",
		folder + "/runsc.toml": fmt.Sprintf("binary_name = %q\nroot = %q\n\n[runsc_config]\nplatform = \"systrap\"\nrestore-spec-validation = \"warning\"\nallow-rootfs-tar-annotation = \"true\"\nallow-suid = \"true\"\n",
			folder+"/runsc", filepath.Dir(n.RunscRoot)),
		n.dropIn(): fmt.Sprintf(header+`version = 3

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes."sandlot-gvisor"]
runtime_type = "io.containerd.runsc.v1"
runtime_path = "%[1]s/containerd-shim-runsc-v1"
pod_annotations = ["sandlot.dev/restore-snapshot"]

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes."sandlot-gvisor".options]
TypeUrl = "io.containerd.runsc.v1.options"
ConfigPath = "%[1]s/runsc.toml"
`, n.current()),
	} {
		if got := n.read(path); got != want {
			t.Errorf("%s has\n%s\nin place of\n%s", path, got, want)
		}
	}
	for _, name := range []string{runscName, shimName} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestSecondInstallationChangesNothing(t *testing.T) {
	n := newNode(t)
	n.mustInstall()
	before := n.files(true)
	outcome, restarts, err := n.install()
	if err != nil || outcome.Changed || outcome.Restarted || restarts != 0 {
		t.Errorf("got %+v, %d restarts, %v", outcome, restarts, err)
	}
	if after := n.files(true); after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
}

func TestVersionWaitsWhileSandboxesRun(t *testing.T) {
	n := newNode(t)
	first := n.mustInstall().Version
	end := n.runSandbox()
	n.write(filepath.Join(n.Source, runscName), "runsc 2")

	outcome, restarts, err := n.install()
	if err != nil || outcome.Version != first || outcome.Waiting == "" || restarts != 0 {
		t.Errorf("got %+v, %d restarts, %v", outcome, restarts, err)
	}
	if got := n.read(filepath.Join(n.current(), runscName)); got != "runsc 1" {
		t.Errorf("new Pods get %q beside sandboxes of the earlier version", got)
	}
	end()
	after := n.mustInstall()
	if after.Version != outcome.Waiting || after.Waiting != "" || n.read(filepath.Join(n.current(), runscName)) != "runsc 2" {
		t.Errorf("got %+v", after)
	}
	if _, err := os.Stat(filepath.Join(n.Folder, versionsName, first)); !os.IsNotExist(err) {
		t.Errorf("the earlier version is still there: %v", err)
	}
}

func TestDamagedProgramIsReplacedAndNotOverwritten(t *testing.T) {
	n := newNode(t)
	n.mustInstall()
	n.runSandbox()
	installed := filepath.Join(n.current(), runscName)
	n.write(installed, "damaged")
	running, err := os.Open(installed)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	n.mustInstall()
	if got := n.read(installed); got != "runsc 1" {
		t.Errorf("it has %q", got)
	}
	if got, err := io.ReadAll(running); err != nil || string(got) != "damaged" {
		t.Errorf("a program that runs has %q, %v", got, err)
	}
}

func TestPodDoesNotStartBeforeContainerdKnowsTheRuntime(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*poll)
	defer cancel()
	if _, err := Install(ctx, n.Settings); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	// The next one is no wiser from finding the drop-in.
	again, cancelAgain := context.WithTimeout(t.Context(), 10*poll)
	defer cancelAgain()
	if _, err := Install(again, n.Settings); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	n.startContainerd()
	ends, cancelEnd := context.WithTimeout(t.Context(), patience)
	defer cancelEnd()
	if outcome, err := Install(ends, n.Settings); err != nil || outcome.Changed {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestTwoInstallersDoNotWorkAtTheSameTime(t *testing.T) {
	n := newNode(t)
	unlock, err := n.lock()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, _, err := n.install()
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("the second one is done: %v", err)
	case <-time.After(10 * poll):
	}
	if _, err := os.Stat(n.current()); err == nil {
		t.Error("the second one has begun")
	}
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRefusesWhatIsNotItsOwn(t *testing.T) {
	for name, prepare := range map[string]func(n *node) string{
		"a drop-in of another author": func(n *node) string {
			n.write(n.dropIn(), "version = 3\n")
			return "is not from Sandlot's installer"
		},
		"a drop-in that is a link": func(n *node) string {
			n.write(n.Config+".else", header)
			n.symlink(n.Config+".else", n.dropIn())
			return "too many levels of symbolic links"
		},
		"a drop-in that is a folder": func(n *node) string {
			n.write(filepath.Join(n.dropIn(), "x"), "")
			return "is not a regular file"
		},
		"a folder in place of the current version": func(n *node) string {
			n.write(filepath.Join(n.current(), runscName), "")
			return "is not the link of the installer"
		},
		"a current version elsewhere": func(n *node) string {
			n.symlink("../elsewhere", n.current())
			return "is not from the installer"
		},
		"a folder that others can change": func(n *node) string {
			n.write(filepath.Join(n.Folder, "x"), "")
			if err := os.Chmod(n.Folder, 0o777); err != nil {
				n.t.Fatal(err)
			}
			return "can be changed by others than root"
		},
		"a configuration of containerd that is absent": func(n *node) string {
			_ = os.Remove(n.Config)
			return "containerd config default"
		},
		"a configuration of containerd 1": func(n *node) string {
			n.write(n.Config, "[plugins.cri]\n")
			return "has version 0: versions 2 to 4 are known (containerd config migrate)"
		},
		"a configuration that containerd cannot read": func(n *node) string {
			n.write(n.Config, "version = \n")
			return "read " + n.Config
		},
		"a configuration without the import": func(n *node) string {
			n.write(n.Config, "version = 2\n")
			return `add this line before the first table of ` + n.Config + `, or set hibernation.installer.containerd.addImport: imports = ["` + n.DropIns + `/*.toml"]`
		},
		"a configuration with other imports, which nothing is added to": func(n *node) string {
			n.AddImport = true
			n.write(n.Config, "version = 2\nimports = [\"/etc/else.toml\"]\n")
			return `add "` + n.DropIns + `/*.toml" to imports`
		},
		"a configuration with an empty list of imports": func(n *node) string {
			n.AddImport = true
			n.write(n.Config, "version = 2\nimports = []\n")
			return "the import cannot be added"
		},
		"a configuration that is a link, which is not replaced": func(n *node) string {
			n.AddImport = true
			n.write(n.Config+".real", "version = 2\n")
			_ = os.Remove(n.Config)
			n.symlink(n.Config+".real", n.Config)
			return "is not a regular file"
		},
		"an image without a shim": func(n *node) string {
			_ = os.Remove(filepath.Join(n.Source, shimName))
			return "the image has no containerd-shim-runsc-v1"
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if err := os.MkdirAll(n.Folder, 0o755); err != nil {
				t.Fatal(err)
			}
			want := prepare(n)
			before := n.files(true)
			if _, restarts, err := n.install(); err == nil || !strings.Contains(err.Error(), want) || restarts > 0 {
				t.Errorf("got %v, %d restarts", err, restarts)
			}
			if after := n.files(true); after != before {
				t.Errorf("changed\n%s\nto\n%s", before, after)
			}
		})
	}
}

func (n *node) symlink(target, path string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		n.t.Fatal(err)
	}
}

func TestSettingsThatWouldHarmTheNodeAreRefused(t *testing.T) {
	for flag, want := range map[string]string{
		"-folder=/":                    "-folder",
		"-folder=opt/gvisor":           "-folder",
		"-containerd-drop-ins=/etc/..": "-containerd-drop-ins",
		"-containerd-config=/etc/\n":   "-containerd-config",
		"-runsc-root=/run/runsc":       "does not end in /k8s.io",
		"-handler=runc":                "runc is the runtime of all other Pods",
		"-handler=a\"]":                "is not the name of a runtime",
		"-restart=reboot.target":       "is not a service of systemd",
		"surplus":                      "unknown argument",
	} {
		if _, err := ReadSettings([]string{flag}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", flag, err)
		}
	}
	if _, err := ReadSettings(nil); err != nil {
		t.Error(err)
	}
}
