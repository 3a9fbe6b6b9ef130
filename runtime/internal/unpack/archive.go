package unpack

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// Limits of one archive. It is a tenant's, and unpacked in the tenant's own sandbox: they keep its disk from an archive that never ends.
const (
	mostEntries = 1_000_000
	mostBytes   = 64 << 30
)

var errTooLarge = errors.New("the archive unpacks to more than 64 GiB or a million entries")

// visit calls act for each entry, with a clean path relative to the root of the archive; "" is the root. It refuses paths that lead out of it.
func visit(file string, act func(name string, header *tar.Header, content io.Reader) error) error {
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	content, err := decompress(archive)
	if err != nil {
		return err
	}
	entries, bytes := 0, int64(0)
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the archive cannot be read: %w", err)
		}
		entries, bytes = entries+1, bytes+header.Size
		if entries > mostEntries || bytes > mostBytes {
			return errTooLarge
		}
		name, err := clean(header.Name)
		if err != nil {
			return err
		}
		if err := act(name, header, reader); err != nil {
			return err
		}
	}
}

// decompress tells gzip by its first bytes: clients send both, and names say nothing.
func decompress(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(file, 1<<20)
	if magic, err := buffered.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

func clean(name string) (string, error) {
	if strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("the archive has the absolute path %q", name)
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("the archive has the path %q, which leads out of it", name)
		}
	}
	if cleaned := path.Clean(name); cleaned != "." {
		return cleaned, nil
	}
	return "", nil
}

// within returns the part of a path below the source; the path itself gives "".
func within(source, name string) (string, bool) {
	if source == "" || name == source {
		return strings.TrimPrefix(name, source), true
	}
	return strings.CutPrefix(name, source+"/")
}
