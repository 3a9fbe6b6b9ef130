package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"
)

// Refusal is an answer to the client: a status, and words that say what happened to which path.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(status int, format string, values ...any) error {
	return &Refusal{Status: status, Message: fmt.Sprintf(format, values...)}
}

// explain turns an error of the file system into a Refusal where the client can do something about it.
func explain(err error, path string) error {
	var refusal *Refusal
	switch {
	case err == nil || errors.As(err, &refusal):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return refuse(http.StatusNotFound, "path '%s' not found", path)
	case errors.Is(err, fs.ErrExist):
		return refuse(http.StatusConflict, "path '%s' already exists", path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return refuse(http.StatusInsufficientStorage, "the volumes of this team are full")
	case errors.Is(err, syscall.EFBIG):
		return refuse(http.StatusInsufficientStorage, "path '%s': the file is larger than this storage allows", path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EPERM):
		return refuse(http.StatusForbidden, "path '%s': its owner does not allow this to other users; change its mode in a sandbox", path)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return refuse(http.StatusBadRequest, "path '%s…' has a name that is too long", path[:min(len(path), shownName)])
	case errors.Is(err, syscall.ENOTDIR):
		return refuse(http.StatusBadRequest, "path '%s': a part of it is not a directory", path)
	case errors.Is(err, syscall.ELOOP):
		return refuse(http.StatusBadRequest, "path '%s' has too many links", path)
	case errors.Is(err, syscall.EISDIR):
		return refuse(http.StatusBadRequest, "path '%s' is a directory", path)
	case isEscape(err):
		return refuse(http.StatusBadRequest, "path '%s' leads out of the volume", path)
	}
	return err
}

// shownName is how much of a name that is too long an error repeats.
const shownName = 80

// isEscape says whether a link leads out of the volume: package os has no error value for it.
func isEscape(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Err != nil && path.Err.Error() == "path escapes from parent"
}
