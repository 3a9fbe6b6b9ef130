// Package httpx has what the plain HTTP routes share.
package httpx

import (
	"encoding/json"
	"net/http"
)

// Error is an error answer: its status and its message for the client.
type Error struct {
	Status  int
	Message string
	// Refusal tells a program why the daemon refuses the caller; empty: it does not.
	Refusal Refusal
}

// Refusal is the value of RefusalHeader.
type Refusal string

// RefusalHeader tells the installation why the daemon refused its credentials (docs/reference/runtime.md#init).
const RefusalHeader = "X-Sandlot-Refusal"

func (e *Error) Error() string { return e.Message }

// Fail returns an Error.
func Fail(status int, message string) *Error { return &Error{Status: status, Message: message} }

// Refuse returns an Error for a caller whose credentials the daemon does not accept.
func Refuse(reason Refusal, message string) *Error {
	return &Error{Status: http.StatusUnauthorized, Message: message, Refusal: reason}
}

// WriteError answers `{"code":<status>,"message":…}`. The integer code distinguishes it from a Connect error.
func WriteError(w http.ResponseWriter, e *Error) {
	if e.Refusal != "" {
		w.Header().Set(RefusalHeader, string(e.Refusal))
	}
	WriteJSON(w, e.Status, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{e.Status, e.Message})
}

// WriteJSON answers with a JSON body.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded)
}

// Handle makes a handler of a function that returns its error answer.
func Handle(serve func(w http.ResponseWriter, r *http.Request) *Error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failure := serve(w, r); failure != nil {
			WriteError(w, failure)
		}
	})
}
