package layers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// buildApplier builds the program that unpacks layers as containerd does.
func buildApplier(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "apply")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = "../../apply", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the applier: %v %s", err, out)
	}
	return program
}

const oldTree = `
mkdir -p bin etc/ssl empty keep/deep gone/below/it swap/x private
head -c 300000 /dev/urandom > bin/program; chmod 4755 bin/program; ln bin/program bin/alias; ln bin/program bin/other
echo a > etc/passwd; echo a > etc/shadow; chmod 600 etc/shadow; chown 0:42 etc/shadow
ln -s ../etc/passwd keep/link; ln -s gone keep/dangling; echo a > keep/deep/file; mkfifo keep/pipe
echo a > gone/below/it/file; echo a > gone/file; echo a > swap/x/y; echo a > swap-back
`

const firstChange = `
head -c 300001 /dev/urandom > bin/other
echo b > etc/passwd; touch -d '2001-02-03 04:05:06.123456789' etc/passwd; echo b > etc/new; chown 1000:1001 etc/new
ln etc/new keep/new; ln etc/new etc/new-too
rm -r gone; rm -r swap; echo b > swap; rm -f swap-back; mkdir -p swap-back/z; echo b > swap-back/z/file
rm keep/pipe; mknod keep/null c 1 3; mknod keep/disk b 7 0; mkfifo keep/fifo
chmod 1777 empty; chmod 2750 private; ln -sfn ../etc/new keep/link; chown -h 5:6 keep/dangling
truncate -s 3000000 keep/sparse; printf x | dd of=keep/sparse bs=1 seek=2000000 conv=notrunc status=none
touch "keep/a
b" "keep/$(printf '\377\376')" keep/üñï "keep/ space "
long=keep; for i in 1 2 3 4 5 6 7 8; do long=$long/ddddddddddddddddddddddddddddddddddddddddddddddddd; done; mkdir -p $long; echo b > $long/end
ln -s $long/$long keep/far
`

const secondChange = `
rm bin/alias; rm -r keep/deep; mkdir keep/deep; echo c > keep/deep/other; mkdir gone; echo c > gone/new
rm -r swap-back; ln -s swap swap-back; rm etc/new; chown 77 keep/new; mv private public; rm keep/null keep/sparse; mkdir keep/null
`

// What containerd makes of the layers has everything of the tree: contents, kinds, owners, modes, times, attributes and links.
func TestLayersOnTheOldTreeGiveTheNewOne(t *testing.T) {
	applier := buildApplier(t)
	w := newWork(t)
	w.sh(oldTree)
	w.do(unix.Setxattr(w.root+"/etc/shadow", "user.kept", []byte("a"), 0))
	image := filepath.Join(t.TempDir(), "image")
	if out, err := exec.Command("cp", "-a", w.root, image).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	w.scan()
	for number, change := range []string{firstChange, secondChange} {
		w.sh(change)
		if number == 0 {
			w.do(unix.Setxattr(w.root+"/etc/shadow", "user.added", []byte("a\x00=\nb"), 0))
			w.do(unix.Setxattr(w.root+"/empty", "user.directory", []byte("b"), 0))
			// CAP_NET_BIND_SERVICE, permitted and effective, of version 2.
			w.do(unix.Setxattr(w.root+"/bin/program", "security.capability", []byte("\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0))
		}
		said, layer := w.diff()
		apply := exec.Command(applier, image)
		apply.Stdin = bytes.NewReader(layer)
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("containerd: %v %s", err, out)
		}
		t.Logf("layer %d: %s", number+1, said)
		expectSame(t, image, w.root)
	}
	again := statOf(t, image+"/keep/new")
	if now := statOf(t, w.root+"/keep/new"); again.Nlink != now.Nlink {
		t.Errorf("the file has %d names in the image and %d in the tree", again.Nlink, now.Nlink)
	}
	w.expectNames()
}
