// Package refuse says why an operation cannot be done, in the words that users of a template build read.
package refuse

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Reason is what a client matches on.
type Reason string

const (
	BadRequest   Reason = "bad_request"
	BadReference Reason = "bad_reference"
	NotFound     Reason = "not_found"
	Denied       Reason = "denied"
	NotAllowed   Reason = "not_allowed"
	TooLarge     Reason = "too_large"
	// Unsupported says that the image has a form that no node could run, or that the builder does not know.
	Unsupported Reason = "unsupported"
	Unreachable Reason = "unreachable"
	// Busy says that as many operations run as may. The client repeats.
	Busy Reason = "busy"
	// Gone says that the client did not wait.
	Gone Reason = "client_gone"
)

// statuses are the HTTP statuses of answers.
var statuses = map[Reason]int{
	BadRequest: http.StatusBadRequest, BadReference: http.StatusBadRequest, NotFound: http.StatusNotFound, Denied: http.StatusForbidden,
	NotAllowed: http.StatusForbidden, TooLarge: http.StatusRequestEntityTooLarge, Unsupported: http.StatusUnprocessableEntity,
	Unreachable: http.StatusBadGateway, Busy: http.StatusServiceUnavailable, Gone: http.StatusBadRequest,
}

// Reasons lists all reasons, for metrics.
func Reasons() []string {
	var all []string
	for reason := range statuses {
		all = append(all, string(reason))
	}
	return all
}

// Refusal is an answer. Its message is shown to tenants and has no word of a registry in it.
type Refusal struct {
	Reason  Reason
	Message string
	// Cause is for the log.
	Cause error
}

// New makes a refusal.
func New(reason Reason, format string, values ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, values...)}
}

// Because adds the cause.
func (r *Refusal) Because(cause error) *Refusal {
	r.Cause = cause
	return r
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Status is that of the answer.
func (r *Refusal) Status() int { return statuses[r.Reason] }

// ErrForbidden says that a registry leads to an address that builds may not reach.
var ErrForbidden = errors.New("the address is none that builds may reach")

// ErrTooLarge says that an answer of a registry, or a body, has more bytes than allowed.
var ErrTooLarge = errors.New("it has more bytes than allowed")

// Image explains an error of the registry of an image that a tenant named.
func Image(image string, err error) *Refusal {
	var known *Refusal
	if errors.As(err, &known) {
		return known
	}
	return explain(err, words{
		notFound:    fmt.Sprintf("image '%s' not found: the image or tag does not exist in the registry", image),
		denied:      fmt.Sprintf("access denied to '%s': authentication required or insufficient permissions", image),
		unreachable: fmt.Sprintf("the registry of image '%s' cannot be used at the moment", image),
		notAllowed:  fmt.Sprintf("image '%s' is not allowed: its registry leads to an address that this installation closes to builds", image),
		tooLarge:    fmt.Sprintf("image '%s' is too large", image),
	})
}

// Own explains an error of the operator's registry.
func Own(what string, err error) *Refusal {
	var known *Refusal
	if errors.As(err, &known) {
		return known
	}
	return explain(err, words{
		notFound:    fmt.Sprintf("'%s' is not in the registry of this installation", what),
		denied:      "the registry of this installation refuses its credentials",
		unreachable: "the registry of this installation cannot be used at the moment",
		notAllowed:  "the registry of this installation leads to an address that is closed to it",
		tooLarge:    what + " is too large",
	})
}

type words struct{ notFound, denied, unreachable, notAllowed, tooLarge string }

func explain(err error, words words) *Refusal {
	refusal := &Refusal{Reason: Unreachable, Message: words.unreachable, Cause: err}
	var body *http.MaxBytesError
	switch {
	case errors.Is(err, ErrForbidden):
		refusal.Reason, refusal.Message = NotAllowed, words.notAllowed
	case errors.Is(err, ErrTooLarge), errors.As(err, &body):
		refusal.Reason, refusal.Message = TooLarge, words.tooLarge
	case errors.Is(err, context.Canceled):
		refusal.Reason, refusal.Message = Gone, "the client did not wait"
	case IsMissing(err):
		refusal.Reason, refusal.Message = NotFound, words.notFound
	case hasStatus(err, http.StatusUnauthorized, http.StatusForbidden):
		refusal.Reason, refusal.Message = Denied, words.denied
	}
	return refusal
}

// IsMissing says whether the registry does not have what it was asked for.
func IsMissing(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsKept says whether the registry has no way to delete.
func IsKept(err error) bool {
	var answer *transport.Error
	if errors.As(err, &answer) {
		for _, each := range answer.Errors {
			if each.Code == transport.UnsupportedErrorCode {
				return true
			}
		}
	}
	return hasStatus(err, http.StatusMethodNotAllowed, http.StatusNotImplemented)
}

func hasStatus(err error, statuses ...int) bool {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return false
	}
	for _, status := range statuses {
		if answer.StatusCode == status {
			return true
		}
	}
	return false
}
