package files_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandlot.dev/node/internal/files"
	"sandlot.dev/node/internal/runsctest"
)

// gVisor writes no such tar. An attacker who puts one in its place must not reach the node either.
func TestTarReachesNothingOfTheNode(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("the node's"), 0o600))
	climb := strings.Repeat("../", 20)
	folder := tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}
	file := func(name string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}
	}
	for name, headers := range map[string][]tar.Header{
		"a name that climbs":        {folder, file("./" + climb + victim[1:])},
		"a folder that climbs":      {folder, {Name: "./../", Typeflag: tar.TypeDir, Mode: 0o755}, file("./../escaped")},
		"an absolute name":          {folder, file(victim)},
		"a file behind a link":      {folder, {Name: "./out", Typeflag: tar.TypeSymlink, Linkname: filepath.Dir(victim)}, file("./out/victim")},
		"a hard link to the node":   {folder, {Name: "./in", Typeflag: tar.TypeLink, Linkname: victim}},
		"a hard link that climbs":   {folder, {Name: "./in", Typeflag: tar.TypeLink, Linkname: "./" + climb + victim[1:]}},
		"a symbolic link":           {folder, {Name: "./in", Typeflag: tar.TypeSymlink, Linkname: victim}},
		"the memory of the machine": {folder, {Name: "./in", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 1, Mode: 0o666}},
		"a disk of the machine":     {folder, {Name: "./in", Typeflag: tar.TypeBlock, Devmajor: 8, Devminor: 0, Mode: 0o666}},
		"no root":                   {file("./orphan")},
		"an unknown kind":           {folder, {Name: "./in", Typeflag: 'V'}},
	} {
		r := runsctest.NewRuntime(t)
		pod, bundle, refusal := r.TryFiles(next, writeTar(t, headers))
		if refusal == nil {
			if got := pod.Exec("busybox", "head", "-c", "10", "/in"); got != "" {
				t.Errorf("%s: the container reads %q", name, got)
			}
			pod.Exec("sh", "-c", "echo taken > /in; echo taken > /out/victim; echo taken > "+victim)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "the node's" {
			t.Errorf("%s: the node's file has %q, %v", name, text, err)
		}
		for _, path := range []string{filepath.Join(bundle, "escaped"), filepath.Join(bundle, "rootfs", "escaped"), filepath.Join(bundle, "rootfs", "in")} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s: %s is on the node", name, path)
			}
		}
		pod.Delete()
	}
}

func writeTar(t *testing.T, headers []tar.Header) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hostile.tar")
	out, err := os.Create(path)
	must(t, err)
	to := tar.NewWriter(out)
	for _, header := range headers {
		must(t, to.WriteHeader(&header))
		if header.Size > 0 {
			_, err := io.WriteString(to, "evil")
			must(t, err)
		}
	}
	must(t, errors.Join(to.Close(), out.Close()))
	return path
}

func TestTooManyBytesAreRefusedBeforeTheyAreWritten(t *testing.T) {
	r := runsctest.NewRuntime(t)
	pod := r.StartPod(source)
	// One that gVisor itself would read into the memory of the sandbox.
	pod.Exec("sh", "-c", "busybox truncate -s 4000G /sparse")
	folder := t.TempDir()
	must(t, r.SaveFiles(t.Context(), pod.Sandbox, folder, nil))
	pod.GoesOn()
	c, err := files.Open(folder)
	must(t, err)
	defer c.Close()
	for _, most := range []int64{0, 1 << 20, 1 << 50} {
		var tooLarge *files.TooLargeError
		out := &counter{}
		if err := c.WriteTar(t.Context(), "worker", out, most); !errors.As(err, &tooLarge) || out.bytes > most || out.bytes > 64<<20 {
			t.Errorf("with %d bytes it wrote %d and ended with %v", most, out.bytes, err)
		}
	}
	if err := c.WriteTar(t.Context(), "stranger", io.Discard, plenty); err == nil || !strings.Contains(err.Error(), "container stranger") {
		t.Errorf("got %v", err)
	}
}

type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// A sandbox that broke out of gVisor's kernel writes what it wants. The agent must survive it.
func TestDamagedCheckpointsDoNoHarm(t *testing.T) {
	r := runsctest.NewRuntime(t)
	pod := r.StartPod(source)
	pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/a bs=1k count=100; busybox truncate -s 1M /b; echo x >> /b")
	whole := t.TempDir()
	must(t, r.SaveFiles(t.Context(), pod.Sandbox, whole, nil))
	entries, err := os.ReadDir(whole)
	must(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		folder := t.TempDir()
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(whole, entry.Name()))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(folder, entry.Name()), damage(random, text), 0o600))
		}
		out := &counter{}
		c, err := files.Open(folder)
		if err == nil {
			for _, name := range c.Containers() {
				err = c.WriteTar(t.Context(), name, out, 8<<20)
			}
			must(t, c.Close())
		}
		if out.bytes > 3*8<<20 {
			t.Fatalf("round %d wrote %d bytes and ended with %v", round, out.bytes, err)
		}
		must(t, os.RemoveAll(folder))
	}
	for _, entry := range entries {
		folder := t.TempDir()
		must(t, os.CopyFS(folder, os.DirFS(whole)))
		must(t, os.Remove(filepath.Join(folder, entry.Name())))
		must(t, os.Symlink("/etc/passwd", filepath.Join(folder, entry.Name())))
		if err := convert(t, folder); err == nil {
			t.Errorf("%s may be a link out of the folder", entry.Name())
		}
	}
}

func convert(t *testing.T, folder string) error {
	c, err := files.Open(folder)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.WriteTar(t.Context(), "worker", io.Discard, plenty)
}

func damage(random *rand.Rand, text []byte) []byte {
	if len(text) == 0 || random.IntN(3) == 0 {
		return text
	}
	switch random.IntN(3) {
	case 0:
		return text[:random.IntN(len(text))]
	case 1:
		text[random.IntN(min(len(text), 4096))] = byte(random.UintN(256))
	default:
		at := random.IntN(len(text))
		for range 1 + random.IntN(8) {
			text[at], at = byte(random.UintN(256)), (at+1)%len(text)
		}
	}
	return text
}

func TestOtherFormatsAreRefused(t *testing.T) {
	for name, text := range map[string][]byte{
		"another version": {0x08, 2, 0x18, 0x80, 0x20, 0x22, 6, 'l', 'i', 't', 't', 'l', 'e'},
		"big endian":      {0x08, 1, 0x18, 0x80, 0x20, 0x22, 3, 'b', 'i', 'g'},
		"nothing":         {},
		"noise":           []byte(fmt.Sprint(1 << 40)),
	} {
		folder := t.TempDir()
		must(t, os.WriteFile(filepath.Join(folder, "fscheckpoint.pb"), text, 0o600))
		if _, err := files.Open(folder); !errors.Is(err, files.ErrUnknownFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
