package installer

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait, so that a test fails instead of hanging.
const patience = 30 * time.Second

// node is the folders of a node, and a socket in place of containerd's.
type node struct {
	t *testing.T
	Settings
	listener net.Listener
}

const importing = "version = 3\nimports = [\"%s/*.toml\"]\n\n[grpc]\n# of the operator\nuid = 0\n"

func newNode(t *testing.T) *node {
	t.Helper()
	// Paths of sockets are limited, so the folder is not the test's, which has its name.
	folder, err := os.MkdirTemp("", "node")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	at := func(name string) string { return filepath.Join(folder, name) }
	n := &node{t: t, Settings: Settings{
		Source: at("image"), Folder: at("opt/gvisor"), Config: at("etc/config.toml"), DropIns: at("etc/conf.d"),
		Socket: at("containerd.sock"), Handler: "sandlot-gvisor", RunscRoot: at("runsc/k8s.io"), Systemd: at("systemd/private"), MostRestart: patience,
	}}
	n.write(filepath.Join(n.Source, runscName), "runsc 1")
	n.write(filepath.Join(n.Source, shimName), "shim 1")
	n.write(n.Config, fmt.Sprintf(importing, n.DropIns))
	n.startContainerd()
	return n
}

func (n *node) write(path, text string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) read(path string) string {
	n.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// startContainerd makes the socket anew, as containerd does whenever it starts.
func (n *node) startContainerd() {
	n.t.Helper()
	if n.listener != nil {
		_ = n.listener.Close()
	}
	listener, err := net.Listen("unix", n.Socket)
	if err != nil {
		n.t.Fatal(err)
	}
	n.listener = listener
	n.t.Cleanup(func() { _ = listener.Close() })
}

// restartWhenDue stands for the operator, who restarts containerd when its configuration has changed.
func (n *node) restartWhenDue() (stop func() int) {
	done, ended := make(chan struct{}), make(chan int)
	go func() {
		restarts := 0
		for {
			select {
			case <-done:
				ended <- restarts
				return
			case <-time.After(2 * time.Millisecond):
			}
			// A pass over half a record is none: the next one follows.
			if due, err := n.isRestartDue(); err == nil && due && n.isConfigured() {
				n.startContainerd()
				restarts++
			}
		}
	}()
	return func() int { close(done); return <-ended }
}

// isConfigured reports whether containerd would read the drop-in.
func (n *node) isConfigured() bool {
	main, err := n.readConfig()
	text, _ := n.readDropIn()
	return err == nil && main.reads(n.Config, n.dropIn()) && string(text) == string(n.formatDropIn(main.version))
}

// install installs, and returns how often containerd had to be restarted.
func (n *node) install() (Outcome, int, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	stop := n.restartWhenDue()
	outcome, err := Install(ctx, n.Settings)
	return outcome, stop(), err
}

func (n *node) mustInstall() Outcome {
	n.t.Helper()
	outcome, _, err := n.install()
	if err != nil {
		n.t.Fatal(err)
	}
	return outcome
}

// runSandbox writes what gVisor writes for a container that runs; the returned function ends it.
func (n *node) runSandbox() (end func()) {
	state := filepath.Join(n.RunscRoot, "a_sandbox:a.state")
	n.write(state, "{}")
	return func() { _ = os.Remove(state) }
}

// files describes everything that the installer may touch: kind, mode, content and, if wanted, which file it is.
func (n *node) files(identities bool) string {
	n.t.Helper()
	var lines []string
	for _, folder := range []string{n.Folder, filepath.Dir(n.Config)} {
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := entry.Info()
			if err != nil {
				n.t.Fatal(err)
			}
			content := ""
			switch {
			case info.Mode().IsRegular():
				content = n.read(path)
			case info.Mode()&fs.ModeSymlink != 0:
				content, _ = os.Readlink(path)
			}
			line := fmt.Sprintf("%s %s %q", info.Mode(), path, content)
			if detail, known := info.Sys().(*syscall.Stat_t); identities && known {
				line += fmt.Sprintf(" %d %d", detail.Ino, detail.Mtim.Nano())
			}
			lines = append(lines, line)
			return nil
		})
	}
	return strings.Join(lines, "\n")
}

func (n *node) expectFiles(want string) {
	n.t.Helper()
	if got := n.files(false); got != want {
		n.t.Errorf("the node has\n%s\nin place of\n%s", got, want)
	}
}

// expectSound fails the test if new Pods would get half a version, or containerd a configuration that it cannot read.
func (n *node) expectSound(step string) {
	n.t.Helper()
	if _, err := n.readConfig(); err != nil {
		n.t.Errorf("%s: %v", step, err)
	}
	name, err := n.readCurrent()
	if err != nil {
		n.t.Errorf("%s: %v", step, err)
	}
	if name == "" {
		return
	}
	for _, file := range []string{runscName, shimName, configName} {
		if sum, err := hashFile(filepath.Join(n.current(), file)); sum == "" || err != nil {
			n.t.Errorf("%s: the current version has no %s: %v", step, file, err)
		}
	}
}

// left are the files and folders that a removal left behind.
func (n *node) left() []string {
	var found []string
	for _, pattern := range []string{n.Folder + "/*", n.DropIns + "/*", n.Config + ".*"} {
		matches, _ := filepath.Glob(pattern)
		found = append(found, matches...)
	}
	return found
}

// relocate returns the files of one node as another one would have them.
func relocate(from, to *node) string {
	from.t.Helper()
	text := strings.ReplaceAll(from.files(false), filepath.Dir(from.Source), filepath.Dir(to.Source))
	// The name of a version depends on where gVisor keeps its state.
	before, _ := from.describe()
	after, _ := to.describe()
	return strings.ReplaceAll(text, before.name, after.name)
}
