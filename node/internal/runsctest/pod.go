// Package runsctest runs Pods in the real gVisor, without Kubernetes, for tests.
package runsctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandlot.dev/node/internal/runsc"
)

// patience bounds every wait, so that a test fails instead of hanging. No test measures time with it.
const patience = 30 * time.Second

// workload counts in memory, and shows the number in a file outside of all volumes.
const workload = `(while true; do echo hello | busybox nc -l -p 8080 127.0.0.1; done) &
i=0; while true; do i=$((i+1)); echo $i > /tmp/new; busybox mv /tmp/new /tmp/count; busybox sleep 0.02; done`

// Runtime is a gVisor with no other containers than those of one test.
type Runtime struct {
	runsc.Runsc
	// Volume is a folder of the node that Pods have as /data; empty: none.
	Volume string
	t      testing.TB
	folder string
}

// NewRuntime uses the program that SANDLOT_RUNSC names. All it starts ends with the test.
func NewRuntime(t testing.TB) *Runtime {
	t.Helper()
	binary := os.Getenv("SANDLOT_RUNSC")
	if binary == "" {
		t.Fatal("set SANDLOT_RUNSC to gVisor's runsc: npm test -- --only runtime does it")
	}
	folder := t.TempDir()
	r := &Runtime{t: t, folder: folder, Runsc: runsc.Runsc{
		Binary: binary,
		Root:   filepath.Join(folder, "root"),
		Flags:  []string{"--platform=systrap", "--network=none", "--ignore-cgroups", "--allow-rootfs-tar-annotation"},
		Limits: runsc.Limits{Brief: patience, Checkpoint: patience, Restore: patience},
	}}
	// gVisor mounts an empty network namespace there.
	t.Cleanup(func() { syscall.Unmount(filepath.Join(r.Root, "null-netns"), syscall.MNT_DETACH) })
	return r
}

// Pod is a running Pod: a pause container, and another one that counts and listens.
type Pod struct {
	runsc.PodName
	// Sandbox and Worker are the ids of its containers.
	Sandbox, Worker string
	runtime         *Runtime
	// files is the tar with which the other container's root file system begins; empty: it is that of the image.
	files string
	// image has files beside busybox, by their paths without the first slash.
	image map[string]string
}

// StartPod starts a Pod.
func (r *Runtime) StartPod(name runsc.PodName) *Pod {
	r.t.Helper()
	return r.start(r.newPod(name, "pod"))
}

// StartPodOf starts a Pod from an image that has these files as well.
func (r *Runtime) StartPodOf(name runsc.PodName, image map[string]string) *Pod {
	r.t.Helper()
	p := r.newPod(name, "pod")
	p.image = image
	return r.start(p)
}

// StartPodWithFiles starts a Pod whose other container begins with the files of a tar above those of the image.
func (r *Runtime) StartPodWithFiles(name runsc.PodName, tar string, image map[string]string) *Pod {
	r.t.Helper()
	p := r.newPod(name, "begun")
	p.files, p.image = tar, image
	return r.start(p)
}

// TryFiles starts the containers of a Pod as StartPodWithFiles does. It returns how gVisor refuses them, and the folder that
// the node has for the other container.
func (r *Runtime) TryFiles(name runsc.PodName, tar string) (p *Pod, folder string, err error) {
	r.t.Helper()
	p = r.newPod(name, "tried")
	p.files = tar
	r.must(r.command("create", "--bundle", r.bundle(p, p.Sandbox), p.Sandbox))
	r.must(r.command("start", p.Sandbox))
	folder = r.bundle(p, p.Worker)
	r.must(r.command("create", "--bundle", folder, p.Worker))
	return p, folder, r.command("start", p.Worker).Run()
}

func (r *Runtime) start(p *Pod) *Pod {
	r.t.Helper()
	r.must(r.command("create", "--bundle", r.bundle(p, p.Sandbox), p.Sandbox))
	r.must(r.command("start", p.Sandbox))
	r.must(r.command("create", "--bundle", r.bundle(p, p.Worker), p.Worker))
	r.must(r.command("start", p.Worker))
	p.WaitFor("a first count", func() bool { return p.Count() > 0 })
	return p
}

// RestorePod starts a Pod from a snapshot, as containerd's shim does: it restores the pause container, and the start of the
// other one becomes a restore.
func (r *Runtime) RestorePod(name runsc.PodName, folder string) *Pod {
	r.t.Helper()
	p := r.newPod(name, "restored")
	r.must(r.command("create", "--bundle", r.bundle(p, p.Sandbox), p.Sandbox))
	if err := r.Restore(r.t.Context(), p.Sandbox, runsc.RestoreOptions{Folder: folder, Bundle: r.bundle(p, p.Sandbox), Background: true}); err != nil {
		r.t.Fatal(err)
	}
	r.must(r.command("create", "--bundle", r.bundle(p, p.Worker), p.Worker))
	r.must(r.command("start", p.Worker))
	return p
}

func (r *Runtime) newPod(name runsc.PodName, prefix string) *Pod {
	// No id may begin with another one: runsc takes the beginning for the whole.
	p := &Pod{PodName: name, Sandbox: prefix + "-" + name.UID, Worker: "worker-of-" + prefix + "-" + name.UID, runtime: r}
	r.t.Cleanup(p.Delete)
	return p
}

// Delete ends the Pod. The pause container goes first: the other one of a paused Pod does not end by itself.
func (p *Pod) Delete() {
	for _, id := range []string{p.Sandbox, p.Worker} {
		_ = p.runtime.command("delete", "-force", id).Run()
	}
}

// Count is the number that the Pod has in memory.
func (p *Pod) Count() int {
	number, _ := strconv.Atoi(strings.TrimSpace(p.Exec("busybox", "cat", "/tmp/count")))
	return number
}

// GoesOn waits until the Pod counts on.
func (p *Pod) GoesOn() {
	p.runtime.t.Helper()
	before := p.Count()
	p.WaitFor("a higher count", func() bool { return p.Count() > before })
}

// StandsStill reports whether the sandbox's own record says that it is paused.
func (p *Pod) StandsStill() bool {
	found, err := p.runtime.FindPod(p.runtime.t.Context(), p.PodName)
	return err == nil && found.Status == runsc.Paused
}

// Freeze stops the processes of gVisor itself, so that nothing answers for the Pod any more.
func (p *Pod) Freeze() {
	p.runtime.t.Helper()
	var state struct{ Pid int }
	out, err := p.runtime.command("state", p.Sandbox).Output()
	if err == nil {
		err = json.Unmarshal(out, &state)
	}
	if err == nil {
		err = syscall.Kill(state.Pid, syscall.SIGSTOP)
	}
	if err != nil {
		p.runtime.t.Fatal(err)
	}
	p.runtime.t.Cleanup(func() { _ = syscall.Kill(state.Pid, syscall.SIGCONT) })
}

// Hears reports whether the listener answers.
func (p *Pod) Hears() bool {
	return strings.Contains(p.Exec("sh", "-c", "busybox nc 127.0.0.1 8080 </dev/null"), "hello")
}

// Exec runs a program in the container that counts and returns its output; empty: it failed.
func (p *Pod) Exec(args ...string) string {
	// In a Pod that stands still the program would never end.
	ctx, cancel := context.WithTimeout(context.Background(), patience/3)
	defer cancel()
	command := p.runtime.command(append([]string{"exec", p.Worker}, args...)...)
	out, _ := exec.CommandContext(ctx, command.Path, command.Args[1:]...).Output()
	return string(out)
}

// WaitFor fails the test if the condition does not become true.
func (p *Pod) WaitFor(what string, isTrue func() bool) {
	p.runtime.t.Helper()
	for deadline := time.Now().Add(patience); !isTrue(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.runtime.t.Fatalf("no %s", what)
		}
	}
}

func (r *Runtime) command(args ...string) *exec.Cmd {
	args = append(append([]string{"--root", r.Root}, r.Flags...), args...)
	return exec.Command(r.Binary, args...)
}

// must runs the command. Its output goes to a file: a container that outlives it would hold a pipe open.
func (r *Runtime) must(cmd *exec.Cmd) {
	r.t.Helper()
	log, err := os.CreateTemp(r.folder, "log-")
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name())
		r.t.Fatalf("%s: %v\n%s", cmd, err, said)
	}
}

// bundle makes the OCI bundle of a container with the annotations of containerd's CRI.
func (r *Runtime) bundle(p *Pod, id string) string {
	r.t.Helper()
	folder := filepath.Join(r.folder, id)
	annotations := map[string]string{
		"io.kubernetes.cri.container-type":    "sandbox",
		"io.kubernetes.cri.sandbox-namespace": p.Namespace,
		"io.kubernetes.cri.sandbox-name":      p.Name,
		"io.kubernetes.cri.sandbox-uid":       p.UID,
		"io.kubernetes.cri.sandbox-id":        p.Sandbox,
	}
	args := []string{"/bin/busybox", "sleep", "1000000"}
	if id == p.Worker {
		annotations["io.kubernetes.cri.container-type"] = "container"
		annotations["io.kubernetes.cri.container-name"] = "worker"
		args = []string{"/bin/sh", "-c", workload}
		if p.files != "" {
			annotations["dev.gvisor.tar.rootfs.upper.worker"] = p.files
		}
	}
	config := map[string]any{
		"ociVersion":  "1.2.0",
		"process":     map[string]any{"user": map[string]int{"uid": 0, "gid": 0}, "args": args, "env": []string{"PATH=/bin"}, "cwd": "/", "capabilities": capabilities()},
		"root":        map[string]any{"path": "rootfs"},
		"mounts":      r.listMounts(),
		"annotations": annotations,
		"linux":       map[string]any{"namespaces": namespaces()},
	}
	if err := errors.Join(writeBundle(folder, config), writeImage(filepath.Join(folder, "rootfs"), p.image)); err != nil {
		r.t.Fatal(err)
	}
	return folder
}

// capabilities are some of those that containerd gives to root.
func capabilities() map[string][]string {
	all := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_MKNOD"}
	return map[string][]string{"bounding": all, "effective": all, "permitted": all}
}

func (r *Runtime) listMounts() []any {
	mounts := []any{map[string]string{"destination": "/proc", "type": "proc", "source": "proc"}}
	if r.Volume != "" {
		mounts = append(mounts, map[string]any{"destination": "/data", "type": "bind", "source": r.Volume, "options": []string{"rbind", "rw"}})
	}
	return mounts
}

func namespaces() []map[string]string {
	var all []map[string]string
	for _, kind := range []string{"pid", "network", "ipc", "uts", "mount"} {
		all = append(all, map[string]string{"type": kind})
	}
	return all
}

func writeImage(rootfs string, image map[string]string) error {
	for name, text := range image {
		path := filepath.Join(rootfs, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func writeBundle(folder string, config map[string]any) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("install a static busybox (apt-get install busybox-static): %w", err)
	}
	program, err := os.ReadFile(busybox)
	if err != nil {
		return err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	for _, name := range []string{"bin", "tmp", "proc"} {
		if err := os.MkdirAll(filepath.Join(folder, "rootfs", name), 0o755); err != nil {
			return err
		}
	}
	for name, content := range map[string][]byte{"rootfs/bin/busybox": program, "rootfs/bin/sh": program, "config.json": text} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o755); err != nil {
			return err
		}
	}
	return nil
}
