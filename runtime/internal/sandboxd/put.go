package sandboxd

import (
	"crypto/rand"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"sandlot.dev/runtime/internal/agentsandbox"
	"sandlot.dev/runtime/internal/fsops"
)

const usualMode = os.FileMode(0o644)

var modeText = regexp.MustCompile(`^0[0-7]{3}$`)

// bodyError means that the body of a request did not arrive as a whole.
type bodyError struct{ error }

func (e bodyError) Unwrap() error { return e.error }

// put replaces a file at once, so that no reader sees a part of it and a broken upload changes nothing. A symlink is replaced
// too, and not followed.
func (f *Files) put(w http.ResponseWriter, r *http.Request, path string) *failure {
	mode, failed := readMode(r.URL.Query())
	if failed != nil {
		return failed
	}
	at, failed := f.at(path, agentsandbox.Place.InsideItself)
	if failed != nil {
		return failed
	}
	if info, err := at.view.Stat(at.path); err == nil && info.IsDir() {
		return &failure{http.StatusBadRequest, invalidArgument, "'" + path + "' is a directory"}
	}
	content, err := contentOf(r)
	if err == nil {
		err = f.replace(at, content, mode)
	}
	var broken bodyError
	if errors.As(err, &broken) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return &failure{http.StatusBadRequest, invalidArgument, "the body: " + err.Error()}
	}
	if err != nil {
		return failureOf(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (f *Files) replace(at place, content io.Reader, mode os.FileMode) error {
	if err := fsops.MakeDirs(f.Root.Session, filepath.Dir(at.path), at.User); err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(at.path), ".put-"+rand.Text())
	partial, err := fsops.CreateNew(f.Root.Session, path, at.User)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{partial}, bodyReader{content}, make([]byte, 64<<10))
	if err == nil {
		err = partial.Chmod(mode)
	}
	err = errors.Join(err, partial.Close())
	if err == nil {
		err = fsops.Move(f.Root.Session, path, at.path, at.User)
	}
	if err != nil {
		return errors.Join(err, fsops.Remove(f.Root.Session, path, at.User))
	}
	return nil
}

// bodyReader marks the errors of a body, to tell them from those of the disk.
type bodyReader struct{ io.Reader }

func (b bodyReader) Read(buffer []byte) (int, error) {
	n, err := b.Reader.Read(buffer)
	if err != nil && err != io.EOF {
		err = bodyError{err}
	}
	return n, err
}

// contentOf returns the body, or the part `file` of a form.
func contentOf(r *http.Request) (io.Reader, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		return r.Body, nil
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, bodyError{err}
	}
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			return nil, bodyError{errors.New("the form has no part 'file'")}
		}
		if err != nil {
			return nil, bodyError{err}
		}
		if part.FormName() == "file" {
			return part, nil
		}
	}
}

func readMode(query url.Values) (os.FileMode, *failure) {
	text := query.Get("mode")
	if text == "" {
		return usualMode, nil
	}
	mode, err := strconv.ParseUint(text, 8, 12)
	if err != nil || !modeText.MatchString(text) {
		return 0, &failure{http.StatusBadRequest, invalidArgument, "'mode' must be a zero and three octal digits, such as 0644"}
	}
	return os.FileMode(mode), nil
}

func readBool(query url.Values, name string) (bool, *failure) {
	text := query.Get(name)
	if text == "" {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, &failure{http.StatusBadRequest, invalidArgument, "'" + name + "' must be true or false"}
	}
	return value, nil
}
