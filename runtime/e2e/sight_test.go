package e2e

import (
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutFileSystemUsers makes the kernel refuse the calls that gVisor lacks to everything that this test starts.
func withoutFileSystemUsers(t *testing.T) {
	t.Helper()
	// The thread keeps the filter and ends with the test.
	runtime.LockOSThread()
	refuse := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	isCall := func(number uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1}
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, number := range []uint32{unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_OPENAT2} {
		filter = append(filter, isCall(number), refuse)
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		t.Fatal(err)
	}
}

// statusOf asks for a path as `nobody` in one of the ways that show something of it.
func (p prison) statusOf(way, path string) answer {
	switch way {
	case "compose":
		return p.compose(path, p.home+"/mine")
	case "Move":
		return p.call(way, fmt.Sprintf(`{"source":%q,"destination":%q}`, path, p.home+"/mine"))
	case "list", "exists":
		return p.d.send(p.d.execURL, "GET", "/"+way+"/"+url.PathEscape(path), nil, nil)
	}
	return p.call(way, `{"path":"`+path+`"}`)
}

func TestALinkShowsNothingThatTheUserMayNotSee(t *testing.T) { lockUp(t).spy() }

func TestALinkShowsNothingOnAKernelWithoutFileSystemUsers(t *testing.T) {
	withoutFileSystemUsers(t)
	lockUp(t).spy()
}

func (p prison) spy() {
	for _, way := range []string{"Stat", "ListDir", "CreateWatcher", "MakeDir", "Move", "compose", "list", "exists"} {
		for _, name := range []string{"", "/deep"} {
			// A move of the link itself leads nowhere.
			if way == "Move" && name == "" {
				continue
			}
			if got := p.statusOf(way, p.home+"/closed"+name); strings.Contains(got.body, secretName) {
				p.t.Errorf("%s of a link%s: answered %d %s", way, name, got.status, got.body)
			}
		}
		there := p.statusOf(way, p.home+"/closed/"+secretName)
		missing := p.statusOf(way, p.home+"/closed/missing-name")
		if there.status != missing.status || strings.ReplaceAll(there.body, secretName, "missing-name") != missing.body {
			p.t.Errorf("%s: a name behind a link is answered with %d %s, a missing one with %d %s", way, there.status, there.body, missing.status, missing.body)
		}
	}
	for _, way := range []string{"ListDir", "CreateWatcher"} {
		expect(p.t, way+" of a link", strconv.Itoa(p.statusOf(way, p.home+"/closed").status), "403")
	}
	listed := p.statusOf("ListDir", p.home).body
	if !strings.Contains(listed, `"name":"closed-file","type":"FILE_TYPE_SYMLINK"`) {
		p.t.Errorf("a listing describes what is behind a link: %s", listed)
	}
}

func TestALinkShowsWhatTheUserMaySee(t *testing.T) { lockUp(t).see() }

func TestALinkShowsWhatTheUserMaySeeOnAKernelWithoutFileSystemUsers(t *testing.T) {
	withoutFileSystemUsers(t)
	lockUp(t).see()
}

func (p prison) see() {
	t := p.t
	listed := p.statusOf("ListDir", p.home+"/dir").body
	expect(t, "the names behind a link", strconv.FormatBool(strings.Contains(listed, `"path":"`+p.home+`/dir/secret"`)), "true")
	expect(t, "a watch", strconv.Itoa(p.statusOf("CreateWatcher", p.home+"/dir").status), "200")
	expect(t, "without a link", strconv.FormatBool(strings.Contains(p.statusOf("ListDir", p.private).body, secretName)), "true")
	got := p.statusOf("Stat", p.home+"/harmless").body
	expect(t, "the target of a link", strconv.FormatBool(strings.Contains(got, `"type":"FILE_TYPE_FILE"`) && strings.Contains(got, `"symlinkTarget":"`+p.home+`/own"`)), "true")
}

// checkPrivate fails if the directory that root alone may enter has changed.
func (p prison) checkPrivate(when string) {
	p.t.Helper()
	for dir, want := range map[string]int{p.private: 2, p.private + "/deep": 1} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != want {
			p.t.Fatalf("%s: %s has %d entries now: %v", when, dir, len(entries), err)
		}
	}
	for _, each := range append(p.hidden(), p.private, p.private+"/deep") {
		info, err := os.Lstat(each)
		if err != nil {
			p.t.Fatalf("%s: %v", when, err)
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 0 || info.Mode().Perm()&0o077 != 0 {
			p.t.Fatalf("%s: %s belongs to %d now, with mode %s", when, each, stat.Uid, info.Mode())
		}
	}
}
