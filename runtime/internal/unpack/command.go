package unpack

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os/user"
	"path"
	"strconv"
	"strings"
)

// Usage says how the command is used.
const Usage = `unpack --archive FILE --source PATH --destination PATH --owner USER:GROUP [--home-of USER] [--mode OCTAL]
                        put a part of an archive into the file system, as the COPY of a build`

// ErrUsage says that the arguments are none of the command.
var ErrUsage = errors.New("usage: sandlot-runtime " + Usage)

// Run carries out `unpack`.
func Run(args []string) error {
	var c Copy
	var owner, home, mode string
	flags := flag.NewFlagSet("unpack", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.Archive, "archive", "", "the archive")
	flags.StringVar(&c.Source, "source", "", "path in the archive; empty for all of it")
	flags.StringVar(&c.Destination, "destination", "", "where it goes")
	flags.StringVar(&owner, "owner", "", "who owns what is copied")
	flags.StringVar(&home, "home-of", "", "the destination is relative to the home of this user")
	flags.StringVar(&mode, "mode", "", "mode of what is copied")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || c.Archive == "" || owner == "" {
		return errors.Join(ErrUsage, err)
	}
	if home != "" {
		found, err := user.Lookup(home)
		if err != nil {
			return fmt.Errorf("there is no user %s", home)
		}
		c.Destination = found.HomeDir + "/" + c.Destination
	}
	if !path.IsAbs(c.Destination) {
		return ErrUsage
	}
	var err error
	if c.UID, c.GID, err = findOwner(owner); err != nil {
		return err
	}
	if mode != "" {
		if c.Mode, err = parseMode(mode); err != nil {
			return err
		}
		c.HasMode = true
	}
	return c.Run()
}

// findOwner reads `user:group`. A group that is the user's name and no group is the user's first group.
func findOwner(owner string) (uid, gid int, err error) {
	name, group, hasGroup := strings.Cut(owner, ":")
	found, err := user.Lookup(name)
	if err != nil {
		found, err = user.LookupId(name)
	}
	if number, failed := strconv.Atoi(name); err != nil && failed == nil {
		found, err = &user.User{Uid: name, Gid: strconv.Itoa(number)}, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("there is no user %s", name)
	}
	uid, _ = strconv.Atoi(found.Uid)
	gid, _ = strconv.Atoi(found.Gid)
	if !hasGroup {
		return uid, gid, nil
	}
	if known, err := user.LookupGroup(group); err == nil {
		gid, _ = strconv.Atoi(known.Gid)
		return uid, gid, nil
	}
	if number, err := strconv.Atoi(group); err == nil {
		return uid, number, nil
	}
	if group == name {
		return uid, gid, nil
	}
	return 0, 0, fmt.Errorf("there is no group %s", group)
}

// parseMode reads octal digits as chmod does: a fourth one has setuid, setgid and sticky.
func parseMode(text string) (fs.FileMode, error) {
	number, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("%q is no mode", text)
	}
	mode := fs.FileMode(number & 0o777)
	for bit, special := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if number&bit != 0 {
			mode |= special
		}
	}
	return mode, nil
}
