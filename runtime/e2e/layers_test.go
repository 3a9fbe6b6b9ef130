package e2e

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// layerNames lists the layer that a sandbox wrote into the folder of its state, as the content of each file beside its name.
func layerNames(t *testing.T, folder string) []string {
	t.Helper()
	layer, err := os.ReadFile(filepath.Join(folder, "layer"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for reader := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, header.Name+header.Linkname+"|"+strings.TrimSpace(string(content)))
	}
}

// gVisor forgets files of the image that were not used for a while, and numbers directories anew: that is no change. It copies a file of
// the image before it writes to it, which changes the directories on the way to it.
func TestLayersOfASandboxInGVisor(t *testing.T) {
	i := newImage(t)
	for number := range 3000 {
		path := fmt.Sprintf("usr/%d/%d", number%60, number)
		if err := os.MkdirAll(filepath.Join(i.root, path), 0o755); err != nil {
			t.Fatal(err)
		}
		i.write(path+"/file", "of the image", 0o644)
	}
	i.write("etc/same", "old\n", 0o644)
	i.write("etc/names", "old\n", 0o644)
	if err := os.Link(i.root+"/etc/names", i.root+"/etc/other"); err != nil {
		t.Fatal(err)
	}
	ours, _ := install(t)
	p := newPod(t, "layers", ours.podEnv(sandboxUID, "1")...)
	g := newSandbox(t, i, p, command)
	g.boot()
	g.initialise(ours, sandboxUID)
	layer := func(script, want string, names ...string) {
		t.Helper()
		got := g.run(script + `; /.sandlot/sandlot-runtime layer diff --index /state/index --out /state/layer`)
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v", script, got)
		}
		if found := layerNames(t, p.state); !slices.Equal(found, names) {
			t.Errorf("%s: the layer has %q, want %q", script, found, names)
		}
	}
	// The layers of the first two changes have no directory, because this copies the file.
	if got := g.run(`busybox touch -d @1000000000 /etc/same; /.sandlot/sandlot-runtime layer scan --index /state/index`); !strings.Contains(got.stdout, `"unfit":0`) {
		t.Fatalf("the scan says %+v", got)
	}
	layer(`true`, `{"entries":0,`)
	layer(`echo new > /etc/same; busybox touch -d @1000000000 /etc/same`, `{"entries":1,`, "etc/same|new")
	layer(`echo two > /etc/same; busybox touch -d @1000000000 /etc/same`, `{"entries":1,`, "etc/same|two")
	layer(`busybox rm -r /usr/7; busybox mkdir /new; echo 1 > /new/a; busybox ln /new/a /new/b; busybox rm /usr/8/8/file`, `"removed":2,`,
		"new/|", "new/a|1", "new/bnew/a|", "usr/|", "usr/.wh.7|", "usr/8/|", "usr/8/8/|", "usr/8/8/.wh.file|")
	layer(`echo 1 > /dev/not; echo 1 > /.sandlot/not; echo 1 > /state/not`, `{"entries":0,`)
	// In gVisor a file of the image loses its other names when it is written to: each name has what a program sees.
	layer(`echo more >> /etc/names; cat /etc/other > /other`, `{"entries":3,`, "etc/|", "etc/names|old\nmore", "other|old")
}

// What gVisor and the kubelet mount, and what the daemon adds, is of this sandbox. /tmp is of the image: gVisor mounts a tmpfs over it
// only as long as the image has nothing there.
func TestAnImageHasWhatStepsPutIntoTmpAndNothingOfTheSandbox(t *testing.T) {
	i := newImage(t)
	authority, public := makeAuthority(t), makeAuthority(t)
	for _, name := range []string{"etc/ssl/certs", "usr/local/share/ca-certificates"} {
		if err := os.MkdirAll(filepath.Join(i.root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	i.write(storeOfImage, public, 0o644)
	ours, _ := install(t)
	p := newPod(t, "image", append(ours.podEnv(sandboxUID, "1"), "SANDLOT_EGRESS_CA="+authority)...)
	p.over = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}
	for _, path := range p.over {
		i.write(path, "of the image\n", 0o644)
	}
	g := newSandbox(t, i, p, command)
	g.boot()
	g.initialise(ours, sandboxUID)
	expectParts(t, "the store before", g.run("cat /"+storeOfImage).stdout, public, authority)
	const tool = "/.sandlot/sandlot-runtime layer "
	if got := g.run(tool + "scan --index /.sandlot-build/index"); !strings.Contains(got.stdout, `"unfit":0`) {
		t.Fatalf("the scan says %+v", got)
	}
	expect(t, "the store of the image", g.run("cat /"+storeOfImage+"; busybox ls /usr/local/share/ca-certificates").stdout, public)
	expect(t, "the roots of processes", g.run("cat $SSL_CERT_FILE").stdout, public+authority)
	// What update-ca-certificates, a resolver and a restarted daemon write.
	g.run(`cat /usr/local/share/ca-certificates/* >> /` + storeOfImage + `; echo 1 > /etc/hosts; echo 1 > /etc/resolv.conf; echo 1 > /etc/hostname
		busybox rm /run/e2b/.E2B_SANDBOX; echo 1 > /run/e2b/.E2B_SANDBOX; echo 1 > /tmp/a; busybox mkdir /tmp/d; echo 2 > /tmp/d/b`)
	if got := g.run(tool + "diff --index /.sandlot-build/index --out /.sandlot-build/layer; cat /.sandlot-build/layer > /state/layer"); !strings.Contains(got.stdout, `"removed":0`) {
		t.Fatalf("the diff says %+v", got)
	}
	if found, want := layerNames(t, p.state), []string{"tmp/|", "tmp/a|1", "tmp/d/|", "tmp/d/b|2"}; !slices.Equal(found, want) {
		t.Errorf("the layer has %q, want %q", found, want)
	}
	expect(t, "the mode of /tmp", g.run("busybox tar -tvf /.sandlot-build/layer | busybox grep -c '^drwxrwxrwt.* tmp/$'").stdout, "1\n")
}

// BenchmarkLayerOfManyFiles says how much memory a scan and a diff of 300,000 files need.
func BenchmarkLayerOfManyFiles(b *testing.B) {
	root, folder := b.TempDir(), b.TempDir()
	const files = 300_000
	for number := range files {
		dir := filepath.Join(root, "usr/lib/packages", fmt.Sprint(number%3000))
		if number < 3000 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/file-with-a-usual-name-%d.so", dir, number), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	most := map[string]int64{}
	run := func(args ...string) {
		cmd := exec.Command(program, append([]string{"layer", args[0], "--root", root, "--index", folder + "/index"}, args[1:]...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v %s", err, out)
		}
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
		most[args[0]] = max(most[args[0]], used)
	}
	run("scan")
	for b.Loop() {
		run("diff", "--out", folder+"/layer")
	}
	if err := os.Remove(folder + "/index"); err != nil {
		b.Fatal(err)
	}
	run("scan")
	b.ReportMetric(float64(most["scan"])/1024, "scan-MiB")
	b.ReportMetric(float64(most["diff"])/1024, "diff-MiB")
}

func TestTheToolsOfABuildSayWhatIsWrongInOneLineOfText(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(archive, make([]byte, 1024), 0o600); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(t.TempDir(), "index")
	for want, args := range map[string][]string{
		"Error: source path does not exist: app\n":        {"unpack", "--archive", archive, "--source", "app", "--destination", "/a", "--owner", "0:0"},
		"open " + index + ": no such file or directory\n": {"layer", "diff", "--root", t.TempDir(), "--index", index, "--out", index + ".out"},
	} {
		var said bytes.Buffer
		cmd := exec.Command(program, args...)
		cmd.Stderr = &said
		if err := cmd.Run(); err == nil || said.String() != want {
			t.Errorf("%v says %q (%v)", args, said.String(), err)
		}
	}
}
