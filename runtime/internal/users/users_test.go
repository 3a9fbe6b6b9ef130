package users

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	passwd = "root:x:0:0:root:/root:/bin/sh\n# comment:x:1:1:::\n\nuser:x:1000:1000:,,,:/home/user:/bin/bash\r\nhomeless:x:7:7:::\nbroken:x:none:0::/:/bin/sh\nshort:x:5\n"
	group  = "root:x:0:\nuser:x:1000:\nsudo:x:27:user,other\nempty:x:28:\nodd:x\n"
)

func directory(t *testing.T, o Options) *Directory {
	t.Helper()
	dir := t.TempDir()
	o.PasswdFile, o.GroupFile = filepath.Join(dir, "passwd"), filepath.Join(dir, "group")
	for path, content := range map[string]string{o.PasswdFile: passwd, o.GroupFile: group} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return New(o)
}

func TestUsersAreFoundWithHomeAndGroups(t *testing.T) {
	root := directory(t, Options{CanSwitch: true, Home: "/elsewhere"})
	user := directory(t, Options{UID: 1000, GID: 1000, Groups: []uint32{1000, 5}})
	nobody := directory(t, Options{UID: 4242, GID: 1, Home: "/tmp"})
	for name, row := range map[string]struct {
		in   *Directory
		name string
		want string
	}{
		"root, with the home in the file":    {root, "root", "{root 0 0 [0] /root} <nil>"},
		"another user, with its groups":      {root, "user", "{user 1000 1000 [1000 27] /home/user} <nil>"},
		"a user without a home":              {root, "homeless", "{homeless 7 7 [7] /} <nil>"},
		"a user with a malformed id":         {root, "broken", "{ 0 0 [] } invalid username: 'broken'"},
		"a line with too few fields":         {root, "short", "{ 0 0 [] } invalid username: 'short'"},
		"a comment":                          {root, "# comment", "{ 0 0 [] } invalid username: '# comment'"},
		"an empty name":                      {root, "", "{ 0 0 [] } invalid username: ''"},
		"the daemon's user without root":     {user, "user", "{user 1000 1000 [1000 5] /home/user} <nil>"},
		"the daemon's user by number":        {user, "1000", "{user 1000 1000 [1000 5] /home/user} <nil>"},
		"another user without root":          {user, "root", "{ 0 0 [] } invalid username: 'root'"},
		"the daemon's user outside the file": {nobody, "4242", "{4242 4242 1 [] /tmp} <nil>"},
	} {
		got, err := row.in.Lookup(row.name)
		if text := fmt.Sprintf("%v %v", got, err); text != row.want {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

func TestOwnersWithoutANameAreNumbers(t *testing.T) {
	d := directory(t, Options{CanSwitch: true})
	got := strings.Join([]string{d.UserName(1000), d.UserName(999), d.GroupName(27), d.GroupName(999)}, " ")
	if got != "user 999 sudo 999" {
		t.Errorf("got %s", got)
	}
}

func TestAnAddedUserIsFoundAtOnce(t *testing.T) {
	d := directory(t, Options{CanSwitch: true})
	if d.Has("late") {
		t.Fatal("the user exists before it was added")
	}
	if err := os.WriteFile(d.passwd.path, []byte(passwd+"late:x:9:9::/:/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Chtimes(d.passwd.path, time.Time{}, time.Now().Add(time.Second))
	if !d.Has("late") {
		t.Error("the user was not found")
	}
}

func TestWithoutFilesThereIsOnlyTheDaemonsUser(t *testing.T) {
	d := New(Options{PasswdFile: "/none", GroupFile: "/none", CanSwitch: true})
	got, err := d.Lookup("0")
	if text := fmt.Sprintf("%v %v", got, err); text != "{0 0 0 [0] /} <nil>" {
		t.Errorf("got %s", text)
	}
}

func FuzzAPasswordFileIsReadWhateverIsInIt(f *testing.F) {
	f.Add(passwd, "user")
	f.Add(":::::::\n\x00:a:4294967296:-1:::", "")
	f.Fuzz(func(t *testing.T, content, name string) {
		path := filepath.Join(t.TempDir(), "passwd")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		d := New(Options{PasswdFile: path, GroupFile: path, CanSwitch: true, UID: 1})
		if user, err := d.Lookup(name); err == nil && user.Home == "" {
			t.Errorf("%q has no home", name)
		}
		_ = d.UserName(1) + d.GroupName(1)
	})
}
