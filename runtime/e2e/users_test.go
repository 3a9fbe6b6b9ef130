package e2e

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
)

// ownUser returns the name of the user that the tests and the daemon run as.
func ownUser(t *testing.T) string {
	t.Helper()
	found, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return found.Username
}

// imageWithAccounts creates a bare image with accounts.
func imageWithAccounts(t *testing.T) image {
	i := newImage(t)
	i.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\nother:x:1001:100::/tmp:/bin/sh\n", 0o644)
	i.write("etc/group", "root:x:0:\nuser:x:1000:\nusers:x:100:\nwheel:x:10:root,user\n", 0o644)
	return i
}

func TestProcessesRunAsTheRequestedUser(t *testing.T) {
	c := imageWithAccounts(t).start(nil, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	const who = `{"process":{"cmd":"/bin/sh","args":["-c","id; pwd; echo $HOME $USER $LOGNAME"]}}`
	as := func(name string) header { return header{"Authorization": "Basic " + b64(name+":")} }
	for _, row := range []struct {
		name   string
		header header
		want   string
	}{
		{"the image's user by default", nil, "uid=1000(user) gid=1000(user) groups=10(wheel),1000(user)\n/home/user\n/home/user user user\n"},
		{"a user by name", as("other"), "uid=1001(other) gid=100(users) groups=100(users)\n/tmp\n/tmp other other\n"},
		{"root", as("root"), "uid=0(root) gid=0(root) groups=0(root),10(wheel)\n/root\n/root root root\n"},
	} {
		expect(t, row.name, c.open("process.Process/Start", who, row.header).collect().stdout, row.want)
	}
	c.init(nil, `{"defaultUser":"other"}`)
	expect(t, "the user of /init", strings.SplitN(c.open("process.Process/Start", who, nil).collect().stdout, " ", 2)[0], "uid=1001(other)")
	c.init(nil, `{"defaultUser":"missing"}`)
	expect(t, "an unknown user of /init", c.open("process.Process/Start", who, nil).rest(), `02 {"error":{"code":"unauthenticated","message":"invalid username: 'missing'"}}`)
}

func TestCreatedFilesBelongToTheUser(t *testing.T) {
	c := imageWithAccounts(t).start(nil, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	h, body := form(t, part{"file", "new/dir/file", "x"})
	c.request("POST", "/files?username=other", h, body)
	c.must("filesystem.Filesystem/MakeDir", `{"path":"~/made/by/default"}`)
	c.request("POST", "/files/compose", nil, strings.NewReader(`{"source_paths":["/tmp/new/dir/file"],"destination":"/composed/file","username":"other"}`))
	for path, want := range map[string]string{
		"/tmp/new": "other:users", "/composed/file": "other:users", "/composed": "other:users",
		"/home/user/made/by": "user:user", "/etc": "root:root",
	} {
		got := stat(c.daemon, path)
		expect(t, path, got.Owner+":"+got.Group, want)
	}
}

func TestATerminalBelongsToItsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("this test switches users and needs root")
	}
	d := serve(t)
	const who = `{"process":{"cmd":"/bin/sh","args":["-c","stat -c %U $(tty)"],"cwd":"/"},"pty":{"size":{"cols":80,"rows":24}}}`
	got := d.open("process.Process/Start", who, header{"Authorization": "Basic " + b64("nobody:")}).collect()
	expect(t, "owner", got.pty, "nobody\r\n")
}

func TestWithoutRootOnlyTheDaemonsUserIsValid(t *testing.T) {
	i := imageWithAccounts(t)
	c := i.start(nil, "busybox", "su", "user", "-c", "exec "+installed+" run -- sleep 3600")
	c.awaitHealth()
	expect(t, "the default", c.run("id -un; pwd").stdout, "user\n/home/user\n")
	for name, want := range map[string]string{"user": "", "root": "invalid username: 'root'", "other": "invalid username: 'other'"} {
		got := c.open("process.Process/Start", shell("true"), header{"Authorization": "Basic " + b64(name+":")}).collect()
		expect(t, name, strconv.FormatBool(strings.Contains(got.trailer, want)), "true")
	}
}
