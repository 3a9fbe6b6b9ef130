package shimtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NewInstalledNode starts a containerd that the installer of the product has told of gVisor.
func NewInstalledNode(t *testing.T) *Node {
	t.Helper()
	return startNode(t, setup{install: true})
}

// install returns when the installer has written all files; it is done when containerd runs, for which the returned function waits.
func (n *Node) install() (installed func()) {
	n.t.Helper()
	image, folder, dropIns := filepath.Join(n.folder, "image"), filepath.Join(n.folder, "installed"), filepath.Join(n.folder, "conf.d")
	must(n.t, os.MkdirAll(image, 0o755))
	for name, source := range map[string]string{"runsc": n.runsc, "containerd-shim-runsc-v1": program(n.t, "SANDLOT_SHIM")} {
		content, err := os.ReadFile(source)
		must(n.t, err)
		must(n.t, os.WriteFile(filepath.Join(image, name), content, 0o755))
	}
	command := exec.Command(program(n.t, "SANDLOT_INSTALLER"), "install", "-source="+image, "-folder="+folder, "-handler="+handler,
		"-containerd-config="+filepath.Join(n.folder, "containerd.toml"), "-containerd-drop-ins="+dropIns, "-containerd-socket="+n.address(), "-runsc-root="+n.root())
	command.Stderr = os.Stderr
	must(n.t, command.Start())
	n.t.Cleanup(func() { _ = command.Process.Kill() })
	n.WaitFor("drop-in", func() bool { return len(glob(dropIns, "*.toml")) == 1 })
	n.keepFromTheNetwork(filepath.Join(folder, "current", "runsc.toml"))
	// The containers of tests run what was installed, and not what it was copied from.
	n.runsc = filepath.Join(folder, "current", "runsc")
	must(n.t, os.RemoveAll(image))
	return func() { must(n.t, command.Wait()) }
}

// keepFromTheNetwork adds what all Pods of these tests have: no network of their own and no cgroups.
func (n *Node) keepFromTheNetwork(file string) {
	n.t.Helper()
	text, err := os.ReadFile(file)
	must(n.t, err)
	before, after, found := strings.Cut(string(text), "[runsc_config]\n")
	if !found {
		n.t.Fatalf("%s has no flags of runsc: %s", file, text)
	}
	flags := "[runsc_config]\nnetwork = \"none\"\nignore-cgroups = \"true\"\n"
	must(n.t, os.WriteFile(file, []byte(before+flags+after), 0o600))
}

func glob(folder, pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(folder, pattern))
	return found
}
