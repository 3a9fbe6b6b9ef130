// Package files serves /files and /files/compose: whole files over plain HTTP
// (docs/reference/runtime.md#file-transfer).
package files

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/fsops"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/server"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/users"
)

// Service serves the routes.
type Service struct {
	Session *session.Session
	Store   *state.Store
	// Managed means that the daemon refuses requests before the signed /init.
	Managed bool
	// Now is the clock for the expiry of signatures.
	Now func() time.Time
}

// Files returns the handler of /files.
func (s *Service) Files() http.Handler {
	return httpx.Handle(func(w http.ResponseWriter, r *http.Request) *httpx.Error {
		operation, serve := "read", s.download
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodPost:
			operation, serve = "write", s.upload
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			return httpx.Fail(http.StatusMethodNotAllowed, r.Method+" is not allowed here")
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return httpx.Fail(http.StatusBadRequest, "the query cannot be decoded")
		}
		if failure := s.authorise(r, query, operation); failure != nil {
			return failure
		}
		user, err := s.Session.User(query.Get("username"))
		if err != nil {
			return httpx.Fail(http.StatusUnauthorized, err.Error())
		}
		return serve(w, &request{Request: r, user: user, path: query.Get("path")})
	})
}

// view is what a user may see of the files.
func (s *Service) view(user users.User) fsops.View { return fsops.View{Session: s.Session, User: user} }

// request is an authorised request.
type request struct {
	*http.Request
	user users.User
	path string
}

// authorise accepts the token, or a signature made with the token, which URLs for browsers carry.
func (s *Service) authorise(r *http.Request, query url.Values, operation string) *httpx.Error {
	settings := s.Store.Current()
	if settings.AccessToken == "" {
		if s.Managed && !settings.Initialized {
			return httpx.Fail(http.StatusUnauthorized, "the sandbox has not been initialised yet")
		}
		return nil
	}
	if given := r.Header.Get(server.TokenHeader); given != "" {
		if server.SameToken(given, settings.AccessToken) {
			return nil
		}
		return httpx.Fail(http.StatusUnauthorized, "the header X-Access-Token is wrong")
	}
	signature := query.Get("signature")
	if signature == "" {
		return httpx.Fail(http.StatusUnauthorized, "the header X-Access-Token or the query parameter 'signature' is needed")
	}
	expiration := query.Get("signature_expiration")
	expected := Signature(Signed{
		Path: query.Get("path"), Operation: operation, Username: query.Get("username"), Expiration: expiration,
	}, settings.AccessToken)
	// An unescaped plus sign arrives as a blank, and base64 has no blanks.
	if !server.SameToken(strings.ReplaceAll(signature, " ", "+"), expected) {
		return httpx.Fail(http.StatusUnauthorized, "the signature is wrong")
	}
	if expiration == "" {
		return nil
	}
	at, err := strconv.ParseInt(expiration, 10, 64)
	if err != nil || s.Now().Unix() >= at {
		return httpx.Fail(http.StatusUnauthorized, "the signature has expired")
	}
	return nil
}

// Signed is what the signature of a file URL covers: the decoded values of the query.
type Signed struct{ Path, Operation, Username, Expiration string }

// Signature signs a file URL like E2B's clients do (docs/reference/runtime.md#file-transfer).
func Signature(signed Signed, token string) string {
	text := strings.Join([]string{signed.Path, signed.Operation, signed.Username, token}, ":")
	if signed.Expiration != "" {
		text += ":" + signed.Expiration
	}
	sum := sha256.Sum256([]byte(text))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// failureOf maps an error of a file operation to an answer.
func failureOf(err error) *httpx.Error {
	var known *httpx.Error
	switch {
	case errors.As(err, &known):
		return known
	case fsops.OutOfSpace(err):
		return httpx.Fail(http.StatusInsufficientStorage, "not enough space left: "+err.Error())
	case errors.Is(err, syscall.EISDIR), errors.Is(err, fsops.ErrNotRegular):
		return httpx.Fail(http.StatusBadRequest, "not a regular file: "+err.Error())
	case errors.Is(err, fs.ErrNotExist):
		return httpx.Fail(http.StatusNotFound, "not found: "+err.Error())
	case fsops.BadPath(err):
		return httpx.Fail(http.StatusBadRequest, err.Error())
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return httpx.Fail(http.StatusForbidden, err.Error())
	}
	return httpx.Fail(http.StatusInternalServerError, err.Error())
}
