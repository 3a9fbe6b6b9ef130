package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const fsys = "filesystem.Filesystem/"

// entry is an EntryInfo message.
type entry struct {
	Name, Type, Path, Size, Permissions, Owner, Group, ModifiedTime, SymlinkTarget string
	Mode                                                                           int
	IsSymlink                                                                      bool
}

func stat(d *daemon, path string) entry {
	d.t.Helper()
	var got struct{ Entry entry }
	if err := json.Unmarshal([]byte(d.must(fsys+"Stat", `{"path":"`+path+`"}`)), &got); err != nil {
		d.t.Fatal(err)
	}
	return got.Entry
}

func TestStatDescribesEveryKindOfEntry(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/file", []byte("12345"), 0o600)
	_ = os.Chmod(dir+"/file", 0o644)
	_ = os.Mkdir(dir+"/dir", 0o755)
	_ = os.Symlink("dir", dir+"/to-dir")
	_ = os.Symlink("to-dir/../file", dir+"/to-file")
	_ = os.Symlink("nowhere", dir+"/dangling")
	_ = syscall.Mkfifo(dir+"/pipe", 0o600)
	name := ownUser(t)
	for _, row := range []struct{ name, want string }{
		{"file", "FILE_TYPE_FILE 5 420 -rw-r--r-- false "},
		{"dir", "FILE_TYPE_DIRECTORY * 493 drwxr-xr-x false "},
		{"to-dir", "FILE_TYPE_DIRECTORY 3 493 Lrwxrwxrwx true " + dir + "/dir"},
		{"to-file", "FILE_TYPE_FILE 14 420 Lrwxrwxrwx true " + dir + "/file"},
		{"dangling", "FILE_TYPE_SYMLINK 7 511 Lrwxrwxrwx true nowhere"},
		{"pipe", " * 384 prw------- false "},
	} {
		got := stat(d, dir+"/"+row.name)
		if strings.Contains(row.want, "*") {
			got.Size = "*"
		}
		expect(t, row.name, fmt.Sprintf("%s %s %d %s %t %s", got.Type, got.Size, got.Mode, got.Permissions, got.IsSymlink, got.SymlinkTarget), row.want)
		expect(t, "name, path and owner of "+row.name, got.Name+" "+got.Path+" "+got.Owner, row.name+" "+dir+"/"+row.name+" "+name)
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3,9})?Z$`).MatchString(got.ModifiedTime) {
			t.Errorf("the time of %s is %s", row.name, got.ModifiedTime)
		}
	}
}

func TestListDirRespectsTheDepth(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	for _, name := range []string{"b/c/d", "a"} {
		_ = os.MkdirAll(dir+"/real/"+name, 0o755)
	}
	_ = os.WriteFile(dir+"/real/b/x", nil, 0o600)
	_ = os.WriteFile(dir+"/real/odd\xff", nil, 0o600)
	_ = os.Symlink("b", dir+"/real/z-link")
	_ = os.Symlink("real", dir+"/via")
	list := func(path, depth string) string {
		var got struct{ Entries []entry }
		if err := json.Unmarshal([]byte(d.must(fsys+"ListDir", `{"path":"`+path+`"`+depth+`}`)), &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, each := range got.Entries {
			names = append(names, strings.TrimPrefix(each.Path, dir+"/"))
		}
		return strings.Join(names, " ")
	}
	for _, row := range []struct{ name, path, depth, want string }{
		{"one level without a depth", "real", "", "real/a real/b real/odd\uFFFD real/z-link"},
		{"one level at depth 0", "real", `,"depth":0`, "real/a real/b real/odd\uFFFD real/z-link"},
		{"two levels, not through symlinks", "real", `,"depth":2`, "real/a real/b real/b/c real/b/x real/odd\uFFFD real/z-link"},
		{"all levels", "real", `,"depth":100`, "real/a real/b real/b/c real/b/c/d real/b/x real/odd\uFFFD real/z-link"},
		{"under the name of a symlink", "via", "", "via/a via/b via/odd\uFFFD via/z-link"},
		{"nothing", "real/a", "", ""},
	} {
		expect(t, row.name, list(dir+"/"+row.path, row.depth), row.want)
	}
}

func TestFilesystemErrorsHaveConnectCodes(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/file", nil, 0o600)
	_ = os.MkdirAll(dir+"/full/x", 0o755)
	_ = os.Symlink("loop", dir+"/loop")
	for _, row := range []struct {
		name, method, message, code string
		status                      int
	}{
		{"stat of a missing path", "Stat", `"path":"/none"`, "not_found", 404},
		{"stat below a file", "Stat", `"path":"` + dir + `/file/x"`, "not_found", 404},
		{"list of a missing directory", "ListDir", `"path":"/none"`, "not_found", 404},
		{"list of a file", "ListDir", `"path":"` + dir + `/file"`, "invalid_argument", 400},
		{"list of a symlink loop", "ListDir", `"path":"` + dir + `/loop"`, "failed_precondition", 400},
		{"an existing directory", "MakeDir", `"path":"` + dir + `/full"`, "already_exists", 409},
		{"a directory in place of a file", "MakeDir", `"path":"` + dir + `/file"`, "invalid_argument", 400},
		{"move of a missing path", "Move", `"source":"/none","destination":"` + dir + `/x"`, "not_found", 404},
		{"move over a full directory", "Move", `"source":"` + dir + `/full/x","destination":"` + dir + `/full"`, "already_exists", 409},
		{"move into itself", "Move", `"source":"` + dir + `/full","destination":"` + dir + `/full/y"`, "invalid_argument", 400},
		{"removal of the root", "Remove", `"path":"/"`, "invalid_argument", 400},
		{"another user's home", "Stat", `"path":"~root"`, "invalid_argument", 400},
		{"a NUL", "Stat", `"path":"/a\u0000b"`, "invalid_argument", 400},
		{"a name too long", "MakeDir", `"path":"` + dir + `/` + strings.Repeat("n", 300) + `"`, "invalid_argument", 400},
		{"a watch of a missing directory", "CreateWatcher", `"path":"/none"`, "not_found", 404},
		{"a watch of a file", "CreateWatcher", `"path":"` + dir + `/file"`, "invalid_argument", 400},
		{"events of an unknown watcher", "GetWatcherEvents", `"watcherId":"none"`, "not_found", 404},
		{"removal of an unknown watcher", "RemoveWatcher", `"watcherId":"none"`, "not_found", 404},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := d.unary(fsys+row.method, "{"+row.message+"}", nil)
			if got.status != row.status || !strings.HasPrefix(got.body, `{"code":"`+row.code+`","message":`) {
				t.Errorf("answered %d %s", got.status, got.body)
			}
		})
	}
	got := d.unary(fsys+"Stat", `{"path":"/"}`, header{"Authorization": "Basic " + b64("nobody-here:")})
	expect(t, "an unknown user", strconv.Itoa(got.status)+got.body, `401{"code":"unauthenticated","message":"invalid username: 'nobody-here'"}`)
}

func TestDirectoriesAreCreatedMovedAndRemoved(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	d.must(fsys+"MakeDir", `{"path":"`+dir+`/a/b/c"}`)
	expect(t, "mode of a parent", stat(d, dir+"/a/b").Permissions, "drwxr-xr-x")
	_ = os.WriteFile(dir+"/a/file", []byte("moved"), 0o600)
	_ = os.WriteFile(dir+"/old", []byte("replaced"), 0o600)
	moved := d.must(fsys+"Move", `{"source":"`+dir+`/a/file","destination":"`+dir+`/old"}`)
	expect(t, "entry of the destination", strconv.FormatBool(strings.HasPrefix(moved, `{"entry":{"name":"old","type":"FILE_TYPE_FILE","path":"`+dir+`/old"`)), "true")
	expect(t, "content", content(t, dir+"/old"), "moved")
	d.must(fsys+"Move", `{"source":"`+dir+`/a","destination":"`+dir+`/new/parents/a"}`)
	expect(t, "type of the moved tree", stat(d, dir+"/new/parents/a/b/c").Type, "FILE_TYPE_DIRECTORY")
	expect(t, "removal", d.must(fsys+"Remove", `{"path":"`+dir+`/new"}`), "{}")
	expect(t, "removal again", d.must(fsys+"Remove", `{"path":"`+dir+`/new"}`), "{}")
	_ = os.Symlink("old", dir+"/link")
	d.must(fsys+"Remove", `{"path":"`+dir+`/link"}`)
	expect(t, "the target of a removed link", content(t, dir+"/old"), "moved")
}

func TestMoveCopiesATreeToAnotherFileSystem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("this test mounts a file system and needs root")
	}
	d := serve(t)
	from, to := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", to, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(to, 0) })
	_ = os.MkdirAll(from+"/tree/sub", 0o750)
	_ = os.WriteFile(from+"/tree/sub/file", []byte("content"), 0o640)
	_ = os.Symlink("sub/file", from+"/tree/link")
	before := stat(d, from+"/tree/sub/file")
	d.must(fsys+"Move", `{"source":"`+from+`/tree","destination":"`+to+`/deep/tree"}`)
	after := stat(d, to+"/deep/tree/sub/file")
	expect(t, "file", after.Permissions+after.ModifiedTime+content(t, to+"/deep/tree/link"), before.Permissions+before.ModifiedTime+"content")
	_, err := os.Lstat(from + "/tree")
	expect(t, "source", strconv.FormatBool(os.IsNotExist(err)), "true")
	_ = os.WriteFile(from+"/big", make([]byte, 2<<20), 0o600)
	got := d.unary(fsys+"Move", `{"source":"`+from+`/big","destination":"`+to+`/big"}`, nil)
	expect(t, "a move without enough space", strconv.Itoa(got.status), "429")
	left, _ := os.ReadDir(to)
	expect(t, "leftovers at the destination", strconv.Itoa(len(left)), "1")
	expect(t, "the unchanged source", strconv.FormatInt(int64(len(content(t, from+"/big"))), 10), strconv.Itoa(2<<20))
}
