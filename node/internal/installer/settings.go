// Package installer puts gVisor and its shim on a node, and makes containerd know them.
package installer

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Settings are what an operator decides. All paths are those of the node.
type Settings struct {
	// Source has the programs to install; Folder is where they go.
	Source, Folder string
	// Config is containerd's configuration, and DropIns the folder of files that it imports.
	Config, DropIns string
	// AddImport lets the installer write the import of DropIns into Config.
	AddImport bool
	// Socket is the one that containerd listens on, and makes anew when it starts.
	Socket string
	// Handler is containerd's name for the runtime.
	Handler string
	// RunscRoot is the folder in which gVisor keeps the state of the node's containers: one of containerd's namespace k8s.io.
	RunscRoot string
	// Unit is what systemd restarts when containerd has to read its configuration; empty: an operator restarts it.
	Unit string
	// Systemd is the socket on which systemd serves root.
	Systemd string
	// MostRestart is how long containerd may take to stop and to serve again.
	MostRestart time.Duration
}

// namespace is containerd's for Pods. gVisor's shim appends it to the root that its configuration names.
const namespace = "k8s.io"

// ReadSettings reads flags.
func ReadSettings(args []string) (Settings, error) {
	var s Settings
	flags := flag.NewFlagSet("sandlot-node-installer", flag.ContinueOnError)
	flags.StringVar(&s.Source, "source", "/gvisor", "folder of the programs to install")
	flags.StringVar(&s.Folder, "folder", "/opt/sandlot/gvisor", "folder of the node for the programs")
	flags.StringVar(&s.Config, "containerd-config", "/etc/containerd/config.toml", "containerd's configuration")
	flags.StringVar(&s.DropIns, "containerd-drop-ins", "/etc/containerd/conf.d", "folder whose files containerd's configuration imports")
	flags.BoolVar(&s.AddImport, "add-import", false, "add the import of that folder to containerd's configuration where it imports nothing")
	flags.StringVar(&s.Socket, "containerd-socket", "/run/containerd/containerd.sock", "the socket that containerd listens on")
	flags.StringVar(&s.Handler, "handler", "sandlot-gvisor", "name of the runtime in containerd and in the RuntimeClass")
	flags.StringVar(&s.RunscRoot, "runsc-root", "/run/containerd/runsc/k8s.io", "folder in which gVisor keeps the state of containers")
	flags.StringVar(&s.Unit, "restart", "", "unit of systemd to restart when containerd's configuration has changed; empty: wait for somebody to do it")
	flags.StringVar(&s.Systemd, "systemd", "/run/systemd/private", "socket of systemd")
	flags.DurationVar(&s.MostRestart, "most-restart", 2*time.Minute, "how long containerd may take to restart, before it gets back the configuration that it had")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return s, s.validate()
}

var (
	handlers = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	units    = regexp.MustCompile(`^([-\w.@:\\]{1,240}\.service)?$`)
)

func (s Settings) validate() error {
	var problems []error
	for name, path := range map[string]string{
		"source": s.Source, "folder": s.Folder, "containerd-config": s.Config, "containerd-drop-ins": s.DropIns,
		"containerd-socket": s.Socket, "runsc-root": s.RunscRoot, "systemd": s.Systemd,
	} {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || strings.ContainsFunc(path, isControl) {
			problems = append(problems, fmt.Errorf("-%s: %q is not an absolute path in its shortest form", name, path))
		}
	}
	if filepath.Base(s.RunscRoot) != namespace {
		problems = append(problems, fmt.Errorf("-runsc-root: %q does not end in /%s, which gVisor's shim appends", s.RunscRoot, namespace))
	}
	if !handlers.MatchString(s.Handler) {
		problems = append(problems, fmt.Errorf("-handler: %q is not the name of a runtime", s.Handler))
	}
	if s.Handler == "runc" {
		problems = append(problems, errors.New("-handler: runc is the runtime of all other Pods"))
	}
	if !units.MatchString(s.Unit) {
		problems = append(problems, fmt.Errorf("-restart: %q is not a service of systemd", s.Unit))
	}
	return errors.Join(problems...)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
