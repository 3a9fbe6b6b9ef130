package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sandlot.dev/runtime/internal/users"
)

// prison is a folder with two parts: a directory that root owns, with a secret in it, and the home of the user `nobody`, whose
// links lead to that directory.
type prison struct {
	t                   *testing.T
	d                   *daemon
	root, home, private string
}

// private is a directory that root alone may enter.
const (
	secret     = "of root"
	secretName = "name-of-root"
)

func lockUp(t *testing.T, env ...string) prison {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test switches users and needs root")
	}
	dir := t.TempDir()
	for at := dir; at != "/tmp" && at != "/"; at = filepath.Dir(at) {
		_ = os.Chmod(at, 0o755)
	}
	d := serve(t, append(env, "SANDBOX_BASE_DIR="+dir, "SANDLOT_DEFAULT_USER=nobody")...)
	p := prison{t, d, dir + "/root", dir + "/home", dir + "/private"}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(p.root, 0o755))
	must(os.Mkdir(p.home, 0o755))
	must(os.WriteFile(p.root+"/secret", []byte(secret), 0o600))
	must(os.MkdirAll(p.private+"/deep", 0o700))
	for _, each := range p.hidden() {
		must(os.WriteFile(each, []byte(secret), 0o600))
	}
	must(os.WriteFile(p.home+"/own", []byte("own"), 0o600))
	must(os.Symlink(p.root, p.home+"/dir"))
	must(os.Symlink(p.root+"/secret", p.home+"/file"))
	must(os.Symlink("own", p.home+"/harmless"))
	must(os.Link(p.root+"/secret", p.home+"/hard"))
	must(os.Symlink(p.private, p.home+"/closed"))
	must(os.Symlink(p.private+"/"+secretName, p.home+"/closed-file"))
	p.give(p.home)
	p.give(p.home + "/own")
	return p
}

// hidden returns the files in the directory that root alone may enter.
func (p prison) hidden() []string {
	return []string{p.private + "/" + secretName, p.private + "/deep/" + secretName}
}

// give makes a path one of the user `nobody`.
func (p prison) give(path string) {
	p.t.Helper()
	nobody := nobodyUser(p.t)
	if err := os.Chown(path, int(nobody.UID), int(nobody.GID)); err != nil {
		p.t.Fatal(err)
	}
}

func nobodyUser(t *testing.T) users.User {
	t.Helper()
	found, err := users.Machine().Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var asNobody = header{"Authorization": "Basic " + b64("nobody:"), "Content-Type": "application/json"}

func (p prison) call(method, message string) answer {
	return p.d.request("POST", "/filesystem.Filesystem/"+method, asNobody, strings.NewReader(message))
}

func (p prison) upload(path string) answer {
	h, body := form(p.t, part{"file", "x", "planted"})
	return p.d.request("POST", "/files?username=nobody&path="+path, h, body)
}

func (p prison) compose(source, destination string) answer {
	body := fmt.Sprintf(`{"source_paths":[%q],"destination":%q,"username":"nobody"}`, source, destination)
	return p.d.request("POST", "/files/compose", nil, strings.NewReader(body))
}

// check fails if anything of root has changed or leaked.
func (p prison) check(name string, got answer) {
	p.t.Helper()
	if got.status < 400 || strings.Contains(got.body, secret) {
		p.t.Errorf("%s: answered %d %s", name, got.status, got.body)
	}
	content, err := os.ReadFile(p.root + "/secret")
	if err != nil || string(content) != secret {
		p.t.Fatalf("%s: the secret is %q now: %v", name, content, err)
	}
	info, _ := os.Stat(p.root + "/secret")
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 0 {
		p.t.Fatalf("%s: the secret belongs to %d now", name, stat.Uid)
	}
	if entries, _ := os.ReadDir(p.root); len(entries) != 1 {
		p.t.Fatalf("%s: the directory of root has %d entries now", name, len(entries))
	}
}

func TestALinkLendsNoRights(t *testing.T) { lockUp(t).attempt() }

func TestALinkLendsNoRightsOnAKernelWithoutFileSystemUsers(t *testing.T) {
	withoutFileSystemUsers(t)
	lockUp(t).attempt()
}

// attempt uses the links in every way that writes, or reads a content.
func (p prison) attempt() {
	move := func(from, to string) answer {
		return p.call("Move", fmt.Sprintf(`{"source":%q,"destination":%q}`, from, to))
	}
	for name, attempt := range map[string]func() answer{
		"an upload to a link":                    func() answer { return p.upload(p.home + "/file") },
		"an upload to a second name":             func() answer { return p.upload(p.home + "/hard") },
		"an upload below a link":                 func() answer { return p.upload(p.home + "/dir/new") },
		"an upload below directories to be made": func() answer { return p.upload(p.home + "/dir/a/b/new") },
		"a download of a link":                   func() answer { return p.d.request("GET", "/files?username=nobody&path="+p.home+"/file", nil, nil) },
		"a download below a link": func() answer {
			return p.d.request("GET", "/files?username=nobody&path="+p.home+"/dir/secret", nil, nil)
		},
		"a directory below a link":         func() answer { return p.call("MakeDir", `{"path":"`+p.home+`/dir/a/b"}`) },
		"a move out of a link":             func() answer { return move(p.home+"/dir/secret", p.home+"/mine") },
		"a move into a link":               func() answer { return move(p.home+"/own", p.home+"/dir/own") },
		"a move over the target of a link": func() answer { return move(p.home+"/own", p.home+"/dir/secret") },
		"a removal below a link":           func() answer { return p.call("Remove", `{"path":"`+p.home+`/dir/secret"}`) },
		"a composition from a link":        func() answer { return p.compose(p.home+"/file", p.home+"/mine") },
		"a composition into a link":        func() answer { return p.compose(p.home+"/own", p.home+"/dir/own") },
	} {
		p.check(name, attempt())
	}
}

func TestALinkStillLeadsWhereTheUserMayGo(t *testing.T) {
	p := lockUp(t)
	expect(t, "an upload", strconv.Itoa(p.upload(p.home+"/harmless").status), "200")
	got := p.d.request("GET", "/files?username=nobody&path="+p.home+"/harmless", nil, nil)
	expect(t, "a download", got.body, "planted")
	expect(t, "what the link leads to", stat(p.d, p.home+"/own").Owner, "nobody")
	expect(t, "the removal of a link", strconv.Itoa(p.call("Remove", `{"path":"`+p.home+`/dir"}`).status), "200")
	expect(t, "its target", stat(p.d, p.root+"/secret").Owner, "root")
}

func TestWithoutALinkTheDaemonWritesWhereTheClientPoints(t *testing.T) {
	p := lockUp(t)
	expect(t, "an upload", strconv.Itoa(p.upload(p.root+"/a/b/new").status), "200")
	expect(t, "its owner", stat(p.d, p.root+"/a/b/new").Owner, "nobody")
	expect(t, "the directory's owner", stat(p.d, p.root+"/a").Owner, "nobody")
	move := fmt.Sprintf(`{"source":%q,"destination":%q}`, p.root+"/a/b/new", p.root+"/moved")
	expect(t, "a move", strconv.Itoa(p.call("Move", move).status), "200")
	expect(t, "a composition", strconv.Itoa(p.compose(p.root+"/moved", p.root+"/composed").status), "200")
	expect(t, "its owner", stat(p.d, p.root+"/composed").Owner, "nobody")
	expect(t, "a removal", strconv.Itoa(p.call("Remove", `{"path":"`+p.root+`/a"}`).status), "200")
}
