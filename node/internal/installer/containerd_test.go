package installer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// containerd is the real one.
func containerd(t *testing.T) string {
	t.Helper()
	path := os.Getenv("SANDLOT_CONTAINERD")
	if path == "" {
		t.Fatal("set SANDLOT_CONTAINERD: npm test -- --only runtime does it")
	}
	return path
}

// dump returns the configuration as containerd itself reads it.
func (n *node) dump() map[string]any {
	n.t.Helper()
	out, err := exec.Command(containerd(n.t), "--config", n.Config, "config", "dump").Output()
	if err != nil {
		n.t.Fatal(err)
	}
	var read map[string]any
	if _, err := toml.Decode(string(out), &read); err != nil {
		n.t.Fatal(err)
	}
	// It lists the files that it has read.
	delete(read, "imports")
	return read
}

func get(t *testing.T, value any, keys ...string) any {
	t.Helper()
	for _, key := range keys {
		table, _ := value.(map[string]any)
		if value = table[key]; value == nil {
			t.Fatalf("no %q in %v", key, table)
		}
	}
	return value
}

func TestContainerdReadsTheRuntimeBesideItsOwn(t *testing.T) {
	for version, table := range map[int]string{2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime", 4: "io.containerd.cri.v1.runtime"} {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			n := newNode(t)
			n.AddImport = true
			n.write(n.Config, fmt.Sprintf("# of the operator\nversion = %d\noom_score = -7\n\n[plugins.%q]\nenable_selinux = true\n[plugins.%q.containerd]\ndefault_runtime_name = \"own\"\n[plugins.%q.containerd.runtimes.own]\nruntime_type = \"io.containerd.runc.v2\"\n", version, table, table, table))
			before := n.dump()
			n.mustInstall()
			after := n.dump()
			// containerd 2.1 does not convert a drop-in of another version.
			if text := n.read(n.dropIn()); !strings.Contains(text, fmt.Sprintf("version = %d\n\n[plugins.%q.", version, table)) {
				t.Errorf("the drop-in of version %d is\n%s", version, text)
			}

			runtimes := get(t, after, "plugins", "io.containerd.cri.v1.runtime", "containerd", "runtimes")
			ours := get(t, runtimes, n.Handler)
			for want, keys := range map[string][]string{
				"io.containerd.runsc.v1":                 {"runtime_type"},
				filepath.Join(n.current(), shimName):     {"runtime_path"},
				"[sandlot.dev/restore-snapshot]":         {"pod_annotations"},
				"io.containerd.runsc.v1.options":         {"options", "TypeUrl"},
				filepath.Join(n.current(), "runsc.toml"): {"options", "ConfigPath"},
			} {
				if got := fmt.Sprint(get(t, ours, keys...)); got != want {
					t.Errorf("%v is %q in place of %q", keys, got, want)
				}
			}
			// All else is as before.
			delete(runtimes.(map[string]any), n.Handler)
			if !reflect.DeepEqual(before, after) {
				t.Errorf("containerd had\n%v\nand has\n%v", before, after)
			}
			if err := n.remove(); err != nil {
				t.Fatal(err)
			}
			if got := n.dump(); !reflect.DeepEqual(before, got) {
				t.Errorf("containerd had\n%v\nand has after the removal\n%v", before, got)
			}
		})
	}
}
