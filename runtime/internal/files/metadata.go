package files

import (
	"net/http"
	"strings"

	"sandlot.dev/runtime/internal/httpx"
)

const (
	metadataHeader = "X-Metadata-"
	// maxKeyBytes is the kernel's limit of 255 bytes for a name, less the prefix `user.e2b.`.
	maxKeyBytes      = 246
	maxMetadataBytes = 4096
)

// metadataOf reads the metadata of an upload from its headers, with lower-case keys.
func metadataOf(header http.Header) (map[string]string, *httpx.Error) {
	var found map[string]string
	total := 0
	for name, values := range header {
		key, ours := strings.CutPrefix(name, metadataHeader)
		if !ours {
			continue
		}
		key = strings.ToLower(key)
		value := strings.Join(values, ",")
		if key == "" || len(key) > maxKeyBytes || !printable(key) || !printable(value) {
			return nil, httpx.Fail(http.StatusBadRequest, "a metadata key has 1 to 246 bytes, and keys and values are printable ASCII: "+name)
		}
		total += len(key) + len(value)
		if found == nil {
			found = map[string]string{}
		}
		found[key] = value
	}
	if total > maxMetadataBytes {
		return nil, httpx.Fail(http.StatusBadRequest, "the metadata is larger than 4096 bytes")
	}
	return found, nil
}

func printable(text string) bool {
	for _, character := range []byte(text) {
		if character < 0x20 || character > 0x7e {
			return false
		}
	}
	return true
}
