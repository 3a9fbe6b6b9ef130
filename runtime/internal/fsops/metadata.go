package fsops

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// MetadataPrefix is the prefix of the extended attributes that hold the metadata of uploads.
const MetadataPrefix = "user.e2b."

// maxAttributes bounds what is read of a file's attributes, which any program may set.
const maxAttributes = 64 << 10

// Metadata reads the metadata of a file and follows symlinks; nil if there is none or the file system does not
// support it.
func Metadata(path string) map[string]string {
	return readMetadata(
		func(buffer []byte) (int, error) { return unix.Listxattr(path, buffer) },
		func(name string, buffer []byte) (int, error) { return unix.Getxattr(path, name, buffer) },
	)
}

// ownMetadata reads the metadata of an entry and follows no symlink.
func ownMetadata(path string) map[string]string {
	return readMetadata(
		func(buffer []byte) (int, error) { return unix.Llistxattr(path, buffer) },
		func(name string, buffer []byte) (int, error) { return unix.Lgetxattr(path, name, buffer) },
	)
}

// fileMetadata reads the metadata of an open file.
func fileMetadata(file *os.File) map[string]string {
	fd := int(file.Fd())
	return readMetadata(
		func(buffer []byte) (int, error) { return unix.Flistxattr(fd, buffer) },
		func(name string, buffer []byte) (int, error) { return unix.Fgetxattr(fd, name, buffer) },
	)
}

func readMetadata(list func([]byte) (int, error), get func(string, []byte) (int, error)) map[string]string {
	var found map[string]string
	for _, name := range attributes(list) {
		key, ours := strings.CutPrefix(name, MetadataPrefix)
		if !ours {
			continue
		}
		value, ok := readSized(func(buffer []byte) (int, error) { return get(name, buffer) })
		if !ok {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[strings.ToValidUTF8(key, "\uFFFD")] = strings.ToValidUTF8(string(value), "\uFFFD")
	}
	return found
}

// SetMetadata replaces the metadata of an open file. It returns the stored metadata: none if the file system has no
// extended attributes.
func SetMetadata(file *os.File, metadata map[string]string) (map[string]string, error) {
	fd := int(file.Fd())
	for _, name := range attributes(func(buffer []byte) (int, error) { return unix.Flistxattr(fd, buffer) }) {
		if key, ours := strings.CutPrefix(name, MetadataPrefix); ours {
			if _, again := metadata[key]; !again {
				_ = unix.Fremovexattr(fd, name)
			}
		}
	}
	for key, value := range metadata {
		err := unix.Fsetxattr(fd, MetadataPrefix+key, []byte(value), 0)
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return metadata, nil
}

func attributes(list func([]byte) (int, error)) []string {
	names, ok := readSized(list)
	if !ok || len(names) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00")
}

// readSized reads the size and then the content, and drops content that is too large or grew in between.
func readSized(read func([]byte) (int, error)) ([]byte, bool) {
	size, err := read(nil)
	if err != nil || size > maxAttributes {
		return nil, false
	}
	if size == 0 {
		return nil, true
	}
	buffer := make([]byte, size)
	n, err := read(buffer)
	if err != nil {
		return nil, false
	}
	return buffer[:n], true
}
