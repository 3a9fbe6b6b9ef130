package store

import (
	"net/http"
	"path"
	"strings"
)

const (
	longestPath = 4096
	mostParts   = 256
)

// clean returns a path of a client as it is shown, and relative to the volume.
func clean(given string) (shown, inside string, err error) {
	if given == "" || len(given) > longestPath || strings.ContainsRune(given, 0) {
		return "", "", refuse(http.StatusBadRequest, "path: expected 1 to %d bytes, without zero bytes", longestPath)
	}
	shown = path.Clean("/" + given)
	if strings.Count(shown, "/") > mostParts {
		return "", "", refuse(http.StatusBadRequest, "path: expected at most %d directories", mostParts)
	}
	if shown == "/" {
		return shown, ".", nil
	}
	return shown, shown[1:], nil
}
