package shimtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// NewWrappedNode starts a containerd whose shims run gVisor through what Wrap says.
func NewWrappedNode(t *testing.T) *Node {
	t.Helper()
	return startNode(t, setup{wraps: true})
}

func (n *Node) wrapper() string { return filepath.Join(n.folder, "wrapped-runsc") }

// Wrap puts a script before gVisor's program. In it, $verb is restore, start or wait (for the end of a restore), or else another
// word; run runs the program, and begin returns when the program has opened the snapshot. Once succeeds once.
// It can kill $$, which the shim takes for gVisor, $PPID, which is the shim, and with killAgent and killSandbox these.
func (n *Node) Wrap(script string) {
	n.t.Helper()
	_ = os.Remove(n.wrapper() + ".once")
	text := strings.NewReplacer("FOLDER", n.folder, "RUNSC", n.runsc, "SCRIPT", script).Replace(`#!/bin/sh
for verb; do case "$verb" in restore|start) break ;; --restore) verb=wait; break ;; -*) ;; create|state|delete|kill|exec) break ;; esac; done
run() { RUNSC "$@"; }
begin() {
	(exec RUNSC "$@") & pid=$!
	while kill -0 $pid 2>/dev/null && ! ls -l /proc/$pid/fd 2>/dev/null | grep -q '[.]img'; do :; done
}
once() { mkdir "$0.once" 2>/dev/null; }
killAgent() { kill -9 $(cat FOLDER/agent.pid); }
killSandbox() {
	for process in /proc/[0-9]*; do
		if tr '\0' ' ' < $process/cmdline 2>/dev/null | grep -q 'FOLDER/.* boot '; then kill -9 ${process#/proc/}; fi
	done
}
SCRIPT
run "$@"
`)
	// A shell reads its script as it goes, so one that runs must not change.
	must(n.t, os.WriteFile(n.wrapper()+".new", []byte(text), 0o755))
	must(n.t, os.Rename(n.wrapper()+".new", n.wrapper()))
}

// KillShims kills all shims of the node, and fails the test if there is none.
func (n *Node) KillShims() {
	n.t.Helper()
	killed := 0
	for _, pid := range n.Processes() {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if path, _, _ := strings.Cut(string(line), "\x00"); filepath.Base(path) == filepath.Base(program(n.t, "SANDLOT_SHIM")) {
			must(n.t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	if killed == 0 {
		n.t.Fatal("no shim runs")
	}
}
