package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// A refusing transport answers the first requests itself, as a gateway does whose sandbox is not there yet.
type refusing struct {
	next http.RoundTripper
	left int
	seen int
}

func (r *refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	r.seen++
	if r.left == 0 {
		return r.next.RoundTrip(request)
	}
	r.left--
	return &http.Response{
		StatusCode: http.StatusServiceUnavailable,
		Header:     http.Header{},
		Body:       io.NopCloser(strings.NewReader("not yet")),
		Request:    request,
	}, nil
}

// isAtLimit knows both ends of a command that takes too long: the client gives up, or the gateway, to which it says its limit, answers
// at the same moment.
func isAtLimit(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || err != nil && strings.Contains(err.Error(), "status 504")
}

// limitCalls ends a command that takes too long, and repeats one that is refused twice.
func limitCalls(s *session) (detail, error) {
	_, err := s.kept.Run(s.ctx, "sleep 60", sandbox.WithTimeout(time.Second))
	if !isAtLimit(err) {
		return nil, errors.Join(errors.New("the command has outlived its limit"), err)
	}
	options, transport := s.options, &refusing{next: s.options.HTTPTransport}
	options.HTTPTransport = transport
	other, err := sandbox.NewClient(s.ctx, options)
	if err != nil {
		return nil, err
	}
	box, err := other.GetSandbox(s.ctx, s.kept.ClaimName(), options.Namespace)
	if err != nil {
		return nil, err
	}
	transport.left = 2
	if _, err = box.Run(s.ctx, "true", sandbox.WithMaxAttempts(2)); !errors.Is(err, sandbox.ErrRetriesExhausted) {
		return nil, errors.Join(errors.New("two attempts were enough"), err)
	}
	seen := detail{"exhausted": transport.seen}
	transport.left, transport.seen = 2, 0
	result, err := box.Run(s.ctx, "echo third", sandbox.WithMaxAttempts(3))
	if err != nil {
		return nil, err
	}
	seen["attempts"], seen["output"] = transport.seen, result.Stdout
	return seen, box.Disconnect(s.ctx)
}
