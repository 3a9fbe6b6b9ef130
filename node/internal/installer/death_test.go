package installer

import (
	"os/exec"
	"path/filepath"
	"testing"

	"sandlot.dev/node/internal/deathtest"
)

// program builds the command.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sandlot-node-installer")
	if out, err := exec.Command("go", "build", "-o", path, "sandlot.dev/node/cmd/sandlot-node-installer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func (n *node) command(program, verb string) *exec.Cmd {
	args := []string{verb, "-source=" + n.Source, "-folder=" + n.Folder, "-containerd-config=" + n.Config, "-containerd-drop-ins=" + n.DropIns,
		"-containerd-socket=" + n.Socket, "-handler=" + n.Handler, "-runsc-root=" + n.RunscRoot, "-add-import"}
	return exec.Command(program, args...)
}

// newInstalledNode has the first version, of a configuration without the import.
func newInstalledNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t)
	n.AddImport = true
	n.write(n.Config, "version = 2\n")
	n.mustInstall()
	return n
}

func TestInstallationThatDiesIsCompletedByTheNext(t *testing.T) {
	binary := program(t)
	whole := newInstalledNode(t)
	whole.write(filepath.Join(whole.Source, runscName), "runsc 2")
	whole.mustInstall()
	for name, prepare := range map[string]func() *node{
		"first installation": func() *node {
			n := newNode(t)
			n.AddImport = true
			n.write(n.Config, "version = 2\n")
			n.write(filepath.Join(n.Source, runscName), "runsc 2")
			return n
		},
		"upgrade": func() *node {
			n := newInstalledNode(t)
			n.write(filepath.Join(n.Source, runscName), "runsc 2")
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
				n := prepare()
				stop := n.restartWhenDue()
				return deathtest.Trial{Command: n.command(binary, "install"), Judge: func(step string, err error) {
					if err != nil {
						t.Errorf("%s: %v", step, err)
					}
					stop()
					n.expectSound(step)
					n.mustInstall()
					n.expectFiles(relocate(whole, n))
				}}
			})
			if steps < 15 {
				t.Errorf("only %d steps", steps)
			}
		})
	}
}

func TestRemovalThatDiesIsCompletedByTheNext(t *testing.T) {
	binary := program(t)
	steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
		n := newInstalledNode(t)
		return deathtest.Trial{Command: n.command(binary, "remove"), Judge: func(step string, err error) {
			if err != nil {
				t.Errorf("%s: %v", step, err)
			}
			if _, err := n.readConfig(); err != nil {
				t.Errorf("%s: %v", step, err)
			}
			if err := n.remove(); err != nil {
				t.Errorf("%s: %v", step, err)
			}
			if got := n.read(n.Config); got != "version = 2\n" {
				t.Errorf("%s: the configuration is %q", step, got)
			}
			if left := n.left(); len(left) > 0 {
				t.Errorf("%s: left %q", step, left)
			}
		}}
	})
	if steps < 10 {
		t.Errorf("only %d steps", steps)
	}
}
