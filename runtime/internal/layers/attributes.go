package layers

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// paxAttribute begins the names of PAX records for extended attributes.
const paxAttribute = "SCHILY.xattr."

// readAttributes returns the extended attributes that an image keeps, as PAX records. A file without any, or that is gone, has none.
func readAttributes(place string) (map[string]string, error) {
	list, err := readSized(func(into []byte) (int, error) { return unix.Llistxattr(place, into) })
	if err != nil || len(list) == 0 {
		return nil, unlessWithout(err)
	}
	records := map[string]string{}
	for name := range strings.SplitSeq(string(list), "\x00") {
		if !isKept(name) {
			continue
		}
		value, err := readSized(func(into []byte) (int, error) { return unix.Lgetxattr(place, name, into) })
		if err := unlessWithout(err); err != nil {
			return nil, err
		}
		if err == nil {
			records[paxAttribute+name] = string(value)
		}
	}
	return records, nil
}

// isKept leaves out what belongs to this machine. PAX has no way to write a name with an equals sign.
func isKept(name string) bool {
	return (name == "security.capability" || strings.HasPrefix(name, "user.")) && !strings.Contains(name, "=")
}

// readSized asks for the size first, and again if it grew meanwhile.
func readSized(read func([]byte) (int, error)) ([]byte, error) {
	for {
		size, err := read(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		value := make([]byte, size)
		size, err = read(value)
		if err == nil {
			return value[:size], nil
		}
		if !errors.Is(err, unix.ERANGE) {
			return nil, err
		}
	}
}

func unlessWithout(err error) error {
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return unlessGone(err)
}
