package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/remote"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

// problem is an error in the form of the API.
type problem struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (p *problem) Error() string { return p.Code + ": " + p.Message }

func refuse(err error) *problem {
	return &problem{http.StatusBadRequest, "Invalid", err.Error()}
}

// rule gives errors of one kind a status and a code.
type rule struct {
	matches func(error) bool
	status  int
	code    string
}

// The order matters: an error can join several.
var rules = []rule{
	{isA[*save.StuckError], http.StatusInternalServerError, "SaveFailed"},
	{is(save.ErrCancelled), http.StatusInternalServerError, "SaveFailed"},
	{isA[*runsc.AbsentError], http.StatusNotFound, "PodAbsent"},
	{isA[*save.BusyError], http.StatusServiceUnavailable, "Busy"},
	{isA[*save.ConflictError], http.StatusConflict, "Conflict"},
	{isA[*save.HibernatedError], http.StatusConflict, "Hibernated"},
	{isA[*save.HoldEndedError], http.StatusConflict, "HoldEnded"},
	{isA[*save.RetiredError], http.StatusConflict, "Retired"},
	{isA[*store.NoSpaceError], http.StatusInsufficientStorage, "NoSpace"},
	{is(syscall.ENOSPC), http.StatusInsufficientStorage, "NoSpace"},
	{isA[*save.QuotaError], http.StatusUnprocessableEntity, "QuotaExceeded"},
	{isA[*store.NotSharedError], http.StatusUnprocessableEntity, "NotShared"},
	{isA[*store.TakenError], http.StatusConflict, "Conflict"},
	{isA[*store.DamagedError], http.StatusNotFound, "Absent"},
	{is(store.ErrAbsent), http.StatusNotFound, "Absent"},
	{is(remote.ErrAbsent), http.StatusNotFound, "Absent"},
	{is(remote.ErrCancelled), http.StatusConflict, "Cancelled"},
	{isA[*remote.RefusedError], http.StatusUnprocessableEntity, "RemoteRefused"},
	{isA[*remote.BusyError], http.StatusServiceUnavailable, "Busy"},
	{isA[*grants.UnknownError], http.StatusNotFound, "Absent"},
	{isA[*grants.ConflictError], http.StatusConflict, "Conflict"},
	{isA[*grants.BegunError], http.StatusConflict, "Begun"},
	{isA[*grants.NotAnnouncedError], http.StatusForbidden, "NotAnnounced"},
	{isA[*grants.FullError], http.StatusTooManyRequests, "Full"},
	{isA[*grants.AlreadyBegunError], http.StatusConflict, "AlreadyBegun"},
	{isA[*grants.OutcomeError], http.StatusConflict, "Conflict"},
	{is(context.Canceled), http.StatusServiceUnavailable, "Busy"},
}

func isA[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// explain puts an error into the form of the API. Otherwise is the code of an error that no rule knows.
func explain(err error, otherwise string) *problem {
	if found, is := errors.AsType[*problem](err); is {
		return found
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("the agent ends, or the caller went away: ask again: %w", err)
	}
	for _, r := range rules {
		if r.matches(err) {
			return &problem{r.status, r.code, err.Error()}
		}
	}
	return &problem{http.StatusInternalServerError, otherwise, err.Error()}
}

func unknownRoute(r *http.Request) error {
	return &problem{http.StatusNotFound, "NotFound", fmt.Sprintf("the agent has no %s %s", r.Method, r.URL.Path)}
}
