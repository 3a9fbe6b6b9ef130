package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandlot.dev/node/internal/files"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/runsctest"
)

const plenty = 4 << 30

var (
	source = runsc.PodName{Namespace: "team", Name: "analyst-1", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"}
	next   = runsc.PodName{Namespace: "team", Name: "analyst-1", UID: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}
)

// change makes what a program may leave behind, and describe says what of it is there.
const (
	change = `busybox mkdir -p /home/user/a
echo kept > /home/user/a/note; busybox chown 1000:1001 /home/user/a/note; busybox chmod 4640 /home/user/a/note
busybox ln -s ../../../etc/passwd /home/user/link; busybox ln -s /does/not/exist /home/user/dangling
busybox ln /home/user/a/note /home/user/second
busybox dd if=/dev/urandom of=/home/user/large bs=1M count=9 2>/dev/null; echo end >> /home/user/large
busybox truncate -s 300M /home/user/sparse; echo middle | busybox dd of=/home/user/sparse bs=1 seek=209715200 conv=notrunc 2>/dev/null
busybox rm /bin/removed; busybox rm -r /opt/removed; echo changed > /opt/changed; busybox mkfifo /home/user/pipe
busybox touch -d '2001-02-03 04:05:06' /home/user/old; echo x > "/home/user/with
newline"; : > /home/user/empty; busybox mkdir -m 1777 /home/user/sticky
exec 9> /home/user/unlinked; echo secret >&9; busybox rm /home/user/unlinked`
	describe = `cd /home/user; busybox md5sum large; busybox cat a/note; busybox stat -c '%a %u %g %h %i' a/note | busybox cut -d' ' -f1-4
[ a/note -ef second ] && echo same; busybox readlink link; busybox readlink dangling
busybox stat -c %s sparse; busybox tail -c +209715201 sparse | busybox head -c 7
busybox ls -A /opt; [ -e /bin/removed ] || echo gone; busybox cat /opt/changed; busybox stat -c '%F' pipe; busybox stat -c '%Y %s' old
busybox cat with?newline; busybox stat -c '%s' empty; busybox stat -c '%a %F' sticky; [ -e unlinked ] || echo unlinked`
)

func TestFilesComeBackInAnotherPod(t *testing.T) {
	for _, paused := range []bool{false, true} {
		r := runsctest.NewRuntime(t)
		pod := r.StartPodOf(source, map[string]string{"bin/removed": "x", "opt/removed/file": "x", "opt/changed": "image"})
		pod.Exec("sh", "-c", change)
		want := pod.Exec("sh", "-c", describe)
		if paused {
			must(t, r.Pause(t.Context(), pod.Sandbox, nil))
		}
		folder := t.TempDir()
		must(t, r.SaveFiles(t.Context(), pod.Sandbox, folder, nil))
		if pod.StandsStill() != paused {
			t.Errorf("a Pod with paused %t has paused %t", paused, !paused)
		}
		path := write(t, folder, plenty)
		// The image has changed meanwhile: what the container changed itself stays, all else is that of the new image.
		again := r.StartPodWithFiles(next, path, map[string]string{"bin/removed": "y", "opt/removed/file": "y", "opt/changed": "new image", "etc/new": "new image"})
		if got := again.Exec("sh", "-c", describe); got != want || !strings.Contains(got, "middle") {
			t.Errorf("with paused %t the files are\n%sand not\n%s", paused, got, want)
		}
		if got := again.Exec("busybox", "cat", "/etc/new"); got != "new image" {
			t.Errorf("the new image has %q", got)
		}
		must(t, r.SaveFiles(t.Context(), again.Sandbox, t.TempDir(), nil))
	}
}

func write(t *testing.T, folder string, most int64) string {
	t.Helper()
	c, err := files.Open(folder)
	must(t, err)
	defer c.Close()
	if names := c.Containers(); !slices.Contains(names, "worker") {
		t.Fatalf("it has the files of %q", names)
	}
	path := filepath.Join(t.TempDir(), "worker.tar")
	out, err := os.Create(path)
	must(t, err)
	must(t, errors.Join(c.WriteTar(t.Context(), "worker", out, most), out.Close()))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
