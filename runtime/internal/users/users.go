// Package users reads the passwd and group files of the image. It needs no C library and works without these files,
// so it works in any image.
package users

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxFileBytes bounds what is read of a passwd or group file, which the tenant controls.
const maxFileBytes = 4 << 20

// User is an account that processes can run as.
type User struct {
	Name   string
	UID    uint32
	GID    uint32
	Groups []uint32
	Home   string
}

// Directory finds users and groups. It is safe for concurrent use and reads a file again when it changes.
type Directory struct {
	self      User
	canSwitch bool
	passwd    table
	group     table
}

// Options are the paths of the files and the identity of this process.
type Options struct {
	PasswdFile string
	GroupFile  string
	UID        uint32
	GID        uint32
	Groups     []uint32
	// Home is the home of the daemon's own user if the passwd file has none.
	Home string
	// CanSwitch means that this process may start processes as any user.
	CanSwitch bool
}

// New returns a directory.
func New(o Options) *Directory {
	home := o.Home
	if home == "" {
		home = "/"
	}
	own := User{Name: strconv.FormatUint(uint64(o.UID), 10), UID: o.UID, GID: o.GID, Groups: o.Groups, Home: home}
	return &Directory{
		self:      own,
		canSwitch: o.CanSwitch,
		passwd:    table{path: o.PasswdFile},
		group:     table{path: o.GroupFile},
	}
}

// CanSwitch reports whether processes can be started as other users.
func (d *Directory) CanSwitch() bool { return d.canSwitch }

// Self returns the user that this process runs as.
func (d *Directory) Self() User {
	for _, fields := range d.passwd.rows() {
		if user, ok := parseUser(fields); ok && user.UID == d.self.UID {
			own := d.self
			own.Name = user.Name
			if user.Home != "" {
				own.Home = user.Home
			}
			return own
		}
	}
	return d.self
}

// Lookup finds a user by name. Without the privilege to switch users it finds only the daemon's own, so that the
// error comes before a process fails to start.
func (d *Directory) Lookup(name string) (User, error) {
	if self := d.Self(); name == self.Name || name == d.self.Name {
		return d.withGroups(self), nil
	}
	for _, fields := range d.passwd.rows() {
		user, ok := parseUser(fields)
		if !ok || user.Name != name {
			continue
		}
		if !d.canSwitch && user.UID != d.self.UID {
			break
		}
		return d.withGroups(user), nil
	}
	return User{}, fmt.Errorf("invalid username: '%s'", name)
}

// Has reports whether Lookup finds the name.
func (d *Directory) Has(name string) bool {
	_, err := d.Lookup(name)
	return err == nil
}

func (d *Directory) withGroups(user User) User {
	if !d.canSwitch {
		return user
	}
	user.Groups = []uint32{user.GID}
	for _, fields := range d.group.rows() {
		if len(fields) < 4 || !contains(strings.Split(fields[3], ","), user.Name) {
			continue
		}
		if id, ok := parseID(fields[2]); ok && id != user.GID {
			user.Groups = append(user.Groups, id)
		}
	}
	return user
}

// UserName returns the name of a user id, or the number if no user has it.
func (d *Directory) UserName(id uint32) string { return nameOf(d.passwd.rows(), id) }

// GroupName returns the name of a group id, or the number if no group has it.
func (d *Directory) GroupName(id uint32) string { return nameOf(d.group.rows(), id) }

func nameOf(rows [][]string, id uint32) string {
	for _, fields := range rows {
		if found, ok := parseID(fields[2]); ok && found == id {
			return fields[0]
		}
	}
	return strconv.FormatUint(uint64(id), 10)
}

func parseUser(fields []string) (User, bool) {
	if len(fields) < 6 {
		return User{}, false
	}
	uid, uidOK := parseID(fields[2])
	gid, gidOK := parseID(fields[3])
	home := fields[5]
	if home == "" {
		home = "/"
	}
	return User{Name: fields[0], UID: uid, GID: gid, Home: home}, uidOK && gidOK
}

func parseID(text string) (uint32, bool) {
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err == nil
}

func contains(list []string, item string) bool {
	for _, each := range list {
		if each == item {
			return true
		}
	}
	return false
}

// table is a colon-separated file, cached until it changes.
type table struct {
	path   string
	mu     sync.Mutex
	time   time.Time
	size   int64
	loaded [][]string
}

func (t *table) rows() [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil
	}
	if t.loaded == nil || !info.ModTime().Equal(t.time) || info.Size() != t.size {
		t.time, t.size, t.loaded = info.ModTime(), info.Size(), read(t.path)
	}
	return t.loaded
}

func read(path string) [][]string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	rows := [][]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(strings.TrimRight(lines.Text(), "\r"), ":")
		if len(fields) >= 3 && fields[0] != "" && !strings.HasPrefix(fields[0], "#") {
			rows = append(rows, fields)
		}
	}
	return rows
}
