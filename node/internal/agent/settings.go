package agent

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sandlot.dev/node/internal/names"
)

// variablePrefix begins the name of the environment variable of each flag: -most-saves is SANDLOT_MOST_SAVES.
const variablePrefix = "SANDLOT_"

// Settings are what an operator decides.
type Settings struct {
	Node      string
	Root      string
	State     string
	Runsc     string
	RunscRoot string
	Socket    string
	Listen    string
	Metrics   string
	TLSDir    string
	MostSaves int
	// WantedBytes is what a save needs beside the memory of its Pod. KeepFreeBytes is what it leaves of the disk.
	WantedBytes, KeepFreeBytes int64
	// Grace is how long saves may go on after a request to stop.
	Grace time.Duration
}

// ReadSettings reads flags, and the environment for those that are absent.
func ReadSettings(args []string, lookUp func(string) (string, bool)) (Settings, error) {
	var s Settings
	flags := flag.NewFlagSet("sandlot-node", flag.ContinueOnError)
	flags.StringVar(&s.Node, "node", "", "name of the Kubernetes node")
	flags.StringVar(&s.Root, "root", "/var/lib/sandlot/snapshots", "folder of the snapshots, the same path in the agent and on the node")
	flags.StringVar(&s.State, "state", "/var/lib/sandlot/node", "folder of the agent's records")
	flags.StringVar(&s.Runsc, "runsc", "/usr/local/bin/runsc", "gVisor's program, the one that runs the node's Pods")
	flags.StringVar(&s.RunscRoot, "runsc-root", "/run/containerd/runsc/k8s.io", "folder in which gVisor keeps the state of containers")
	flags.StringVar(&s.Socket, "socket", "/run/sandlot/node.sock", "unix socket for the shim")
	flags.StringVar(&s.Listen, "listen", ":8443", "address for the snapshot-controller")
	flags.StringVar(&s.Metrics, "metrics", ":9090", "address for probes and metrics")
	flags.StringVar(&s.TLSDir, "tls-dir", "/etc/sandlot/tls", "folder of tls.crt, tls.key and ca.crt")
	flags.IntVar(&s.MostSaves, "most-saves", 2, "saves at the same time")
	flags.Int64Var(&s.WantedBytes, "wanted-bytes", 256<<20, "bytes a save needs beside the memory of its Pod")
	flags.Int64Var(&s.KeepFreeBytes, "keep-free-bytes", 1<<30, "bytes a save leaves free on the disk")
	flags.DurationVar(&s.Grace, "grace", 10*time.Second, "how long saves may go on after SIGTERM before they are undone")
	if err := readEnvironment(flags, lookUp); err != nil {
		return Settings{}, err
	}
	if err := flags.Parse(args); err != nil {
		return Settings{}, err
	}
	if flags.NArg() > 0 {
		return Settings{}, fmt.Errorf("%q is no flag of the agent", flags.Arg(0))
	}
	return s, s.check()
}

func readEnvironment(flags *flag.FlagSet, lookUp func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *flag.Flag) {
		variable := variablePrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, isSet := lookUp(variable); isSet {
			if err := flags.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable, err))
			}
		}
	})
	return errors.Join(errs...)
}

func (s Settings) check() error {
	errs := []error{names.CheckName("-node", s.Node)}
	for flag, path := range map[string]string{
		"root": s.Root, "state": s.State, "runsc": s.Runsc, "runsc-root": s.RunscRoot, "socket": s.Socket, "tls-dir": s.TLSDir,
	} {
		if !filepath.IsAbs(path) {
			errs = append(errs, fmt.Errorf("-%s is %q: it must be an absolute path", flag, path))
		}
	}
	if s.MostSaves < 1 || s.WantedBytes < 0 || s.KeepFreeBytes < 0 || s.Grace < 0 {
		errs = append(errs, errors.New("-most-saves must be at least 1; -wanted-bytes, -keep-free-bytes and -grace must not be negative"))
	}
	return errors.Join(errs...)
}
