package rpc

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

const (
	// maxMessageBytes bounds one message of a client, which is held in memory.
	maxMessageBytes = 32 << 20
	// The default and maximum of the Keepalive-Ping-Interval header, in seconds.
	usualKeepalive = 90
	maxKeepalive   = 3600
	// writeTimeout is how long a client may accept no data of a stream. Until then it blocks the process whose output
	// it receives.
	writeTimeout = 5 * time.Minute
)

func options() []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(codec{"json"}),
		connect.WithCodec(codec{"json; charset=utf-8"}),
		// Compression is off: clients disable it, and a compressed message could expand beyond the limit.
		connect.WithCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxMessageBytes),
	}
}

func unary[Req, Res any](mux *http.ServeMux, path string, serve func(context.Context, *connect.Request[Req]) (*Res, error)) {
	handler := connect.NewUnaryHandler(path, func(ctx context.Context, r *connect.Request[Req]) (*connect.Response[Res], error) {
		response, err := serve(ctx, r)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(response), nil
	}, options()...)
	mux.Handle(path, patient(guard(handler)))
}

func serverStream[Req, Res any](mux *http.ServeMux, path string, serve func(context.Context, *connect.Request[Req], *connect.ServerStream[Res]) error) {
	mux.Handle(path, patient(guard(connect.NewServerStreamHandler(path, serve, options()...))))
}

// patient bounds the reading of requests that are sent at once.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpx.Patient(w, r)
		next.ServeHTTP(w, r)
	})
}

type controllerKey struct{}

// guard admits only JSON and normalises the timeout header before connect-go reads it, which would take 0 as expired
// and accept signs in numbers.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "application/json", "application/connect+json":
		default:
			if r.Method == http.MethodPost {
				w.Header().Set("Accept-Post", "application/connect+json, application/json")
				w.WriteHeader(http.StatusUnsupportedMediaType)
				return
			}
		}
		if text := r.Header.Get("Connect-Timeout-Ms"); text != "" {
			limit, err := strconv.ParseUint(text, 10, 64)
			switch {
			case err != nil:
				r.Header.Set("Connect-Timeout-Ms", "not a number")
			case limit == 0:
				r.Header.Del("Connect-Timeout-Ms")
			}
		}
		writable(next).ServeHTTP(w, r)
	})
}

// writable lets a handler bound how long its client may accept nothing.
func writable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		controller := http.NewResponseController(w)
		defer func() { _ = controller.SetWriteDeadline(time.Time{}) }()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), controllerKey{}, controller)))
	})
}

// extendWrite restarts the time in which the client must accept data.
func extendWrite(ctx context.Context) {
	if controller, ok := ctx.Value(controllerKey{}).(*http.ResponseController); ok {
		_ = controller.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
}

// sender sends the messages of a stream, and a keepalive after each interval of silence.
type sender[Res any] struct {
	ctx       context.Context
	stream    *connect.ServerStream[Res]
	interval  time.Duration
	timer     *time.Timer
	keepalive *Res
}

func newSender[Res any](ctx context.Context, header http.Header, stream *connect.ServerStream[Res], keepalive *Res) *sender[Res] {
	seconds, err := strconv.Atoi(header.Get("Keepalive-Ping-Interval"))
	if err != nil || seconds < 1 || seconds > maxKeepalive {
		seconds = usualKeepalive
	}
	interval := time.Duration(seconds) * time.Second
	return &sender[Res]{ctx: ctx, stream: stream, interval: interval, timer: time.NewTimer(interval), keepalive: keepalive}
}

func (s *sender[Res]) send(message *Res) error {
	extendWrite(s.ctx)
	s.timer.Reset(s.interval)
	return s.stream.Send(message)
}

func (s *sender[Res]) ping() error { return s.send(s.keepalive) }
func (s *sender[Res]) stop()       { s.timer.Stop() }

// contextError returns the error of a stream whose context has ended, by its deadline or a disconnect.
func contextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return connect.NewError(connect.CodeDeadlineExceeded, errors.New("the deadline of the request has passed"))
	}
	return connect.NewError(connect.CodeCanceled, context.Canceled)
}

// userOf returns the user in the request's Basic authentication, else the default user.
func userOf(s *session.Session, header http.Header) (users.User, error) {
	request := http.Request{Header: header}
	name, _, _ := request.BasicAuth()
	user, err := s.User(name)
	if err != nil {
		return users.User{}, connect.NewError(connect.CodeUnauthenticated, err)
	}
	return user, nil
}

func fail(code connect.Code, format string) error { return connect.NewError(code, errors.New(format)) }
