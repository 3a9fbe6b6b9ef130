package shimtest

import (
	"os"
	"path/filepath"
	"slices"
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

// agentWrapper is what the agent runs in place of gVisor.
func (n *Node) agentWrapper() string { return filepath.Join(n.folder, "agent-runsc") }

// Wrap puts a script before gVisor's program. In it, $verb is restore, start or wait (for the end of a restore), or else another
// word; run runs the program, and begin returns when the program has opened the snapshot. Once succeeds once.
// It can kill $$, which the shim takes for gVisor, $PPID, which is the shim, and with killAgent and killSandbox these. With meet
// it waits for the test (Meet).
func (n *Node) Wrap(script string) {
	n.t.Helper()
	n.wrap(n.wrapper(), script)
}

// WrapAgent puts a script before the program that the agent runs.
func (n *Node) WrapAgent(script string) {
	n.t.Helper()
	n.wrap(n.agentWrapper(), script)
}

func (n *Node) wrap(path, script string) {
	n.t.Helper()
	_ = os.Remove(path + ".once")
	text := strings.NewReplacer("FOLDER", n.folder, "RUNSC", n.runsc, "SCRIPT", script).Replace(`#!/bin/sh
for verb; do case "$verb" in restore|start) break ;; --restore) verb=wait; break ;; -*) ;; create|state|delete|kill|exec|pause|checkpoint) break ;; esac; done
run() { RUNSC "$@"; }
begin() {
	(exec RUNSC "$@") & pid=$!
	while kill -0 $pid 2>/dev/null && ! ls -l /proc/$pid/fd 2>/dev/null | grep -q '[.]img'; do :; done
}
once() { mkdir "$0.once" 2>/dev/null; }
meet() { : > FOLDER/met; while [ -e FOLDER/met ]; do sleep 0.01; done; }
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
	must(n.t, os.WriteFile(path+".new", []byte(text), 0o755))
	must(n.t, os.Rename(path+".new", path))
}

// Meet waits until a script has come to meet, does something, and lets the script go on.
func (n *Node) Meet(do func()) {
	n.t.Helper()
	place := filepath.Join(n.folder, "met")
	n.WaitFor("script that meets the test", func() bool { return exists(place) })
	do()
	must(n.t, os.Remove(place))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// KillShims kills all shims of the node, and fails the test if there is none.
func (n *Node) KillShims() {
	n.t.Helper()
	n.kill("shim", n.isShim)
}

// KillShimOf kills the shim of this container.
func (n *Node) KillShimOf(container string) {
	n.t.Helper()
	n.kill("shim of container "+container, func(args []string) bool { return n.isShim(args) && slices.Contains(args, container) })
}

// KillSandbox kills the process in which gVisor runs the Pod.
func (n *Node) KillSandbox() {
	n.t.Helper()
	n.kill("sandbox", func(args []string) bool { return slices.Contains(args, "boot") })
}

func (n *Node) isShim(args []string) bool {
	return filepath.Base(args[0]) == filepath.Base(program(n.t, "SANDLOT_SHIM"))
}

// kill kills the processes of the node's Pods with such a command line, and fails the test if there is none.
func (n *Node) kill(what string, has func(args []string) bool) {
	n.t.Helper()
	killed := 0
	for _, pid := range n.Processes() {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if has(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")) {
			must(n.t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	if killed == 0 {
		n.t.Fatalf("no %s runs", what)
	}
}
