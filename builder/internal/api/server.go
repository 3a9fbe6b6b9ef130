// Package api answers the control of template builds over HTTP and JSON.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"sandlot.dev/builder/internal/images"
	"sandlot.dev/builder/internal/refuse"
	"sandlot.dev/builder/internal/tell"
	"sandlot.dev/egress/secret"
)

// mostJSON is what a request without a file may have.
const mostJSON = 1 << 20

// Limits bound the server.
type Limits struct {
	// Operations is how many run at a time.
	Operations int
	// Short is the time for questions, and Long that for layers, files and images.
	Short, Long time.Duration
}

// Server is safe for concurrent use.
type Server struct {
	plane  *images.Plane
	limits Limits
	teller *tell.Teller
	slots  chan struct{}
}

// Open says how many operations run. It may be asked before there is a server.
func (s *Server) Open() int {
	if s == nil {
		return 0
	}
	return len(s.slots)
}

// New makes a server.
func New(plane *images.Plane, limits Limits, teller *tell.Teller) *Server {
	return &Server{plane, limits, teller, make(chan struct{}, limits.Operations)}
}

// Handler returns the routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, each := range map[string]operation{
		"POST /v1/resolve":  {"resolve", s.limits.Short, s.resolve},
		"PUT /v1/layers":    {"push_layer", s.limits.Long, s.pushLayer},
		"POST /v1/images":   {"compose", s.limits.Long, s.compose},
		"DELETE /v1/images": {"delete_image", s.limits.Short, s.deleteImage},
		"GET /v1/tags":      {"find_image", s.limits.Short, s.findImage},
		"GET /v1/tags/all":  {"list_tags", s.limits.Short, s.listTags},
		"PUT /v1/tags":      {"tag_image", s.limits.Short, s.tagImage},
		"PUT /v1/files":     {"put_file", s.limits.Long, s.putFile},
		"GET /v1/files":     {"get_file", s.limits.Long, s.getFile},
	} {
		mux.HandleFunc(pattern, func(writer http.ResponseWriter, request *http.Request) { s.run(each, writer, request) })
	}
	return mux
}

type operation struct {
	name  string
	limit time.Duration
	do    func(*call) error
}

// call is one request.
type call struct {
	context.Context
	writer  http.ResponseWriter
	request *http.Request
	subject string
	secrets []secret.Value
	bytes   atomic.Int64
	// isAnswered says that the status has gone out.
	isAnswered bool
}

func (s *Server) run(o operation, writer http.ResponseWriter, request *http.Request) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(request.Context(), o.limit)
	defer cancel()
	c := &call{Context: ctx, writer: writer, request: request}
	err := s.admit(o, c)
	if err != nil {
		c.refuse(err)
	}
	s.teller.Record(tell.Event{Operation: o.name, Subject: c.subject, Err: err, Took: time.Since(begin), Bytes: c.bytes.Load(), Secrets: c.secrets})
	if err != nil && c.isAnswered {
		// The client must not take what came for the whole.
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) admit(o operation, c *call) error {
	select {
	case s.slots <- struct{}{}:
	default:
		return refuse.New(refuse.Busy, "%d operations run, which is the most", s.limits.Operations)
	}
	defer func() { <-s.slots }()
	// The body may take as long as the operation. A server without deadlines for it would keep one that stands still.
	if err := http.NewResponseController(c.writer).SetReadDeadline(time.Now().Add(o.limit)); err != nil {
		return err
	}
	return o.do(c)
}

// refuse answers an error. One of another kind is a mistake of the builder and says nothing of itself.
func (c *call) refuse(err error) {
	if c.isAnswered {
		return
	}
	var refusal *refuse.Refusal
	status, reason, message := http.StatusInternalServerError, "failed", "the builder failed"
	if errors.As(err, &refusal) {
		status, reason, message = refusal.Status(), string(refusal.Reason), secret.Redact(refusal.Message, c.secrets)
		if refusal.Reason == refuse.Busy {
			c.writer.Header().Set("Retry-After", "1")
		}
	}
	c.writer.Header().Set("Content-Type", "application/json")
	c.writer.WriteHeader(status)
	_ = json.NewEncoder(c.writer).Encode(map[string]string{"reason": reason, "message": message})
}

func (c *call) answer(value any) error {
	c.writer.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(c.writer).Encode(value)
}

// read refuses fields that have no effect. The decoder's errors may quote the body, so they are not handed on.
func (c *call) read(into any) error {
	decoder := json.NewDecoder(io.LimitReader(c.request.Body, mostJSON))
	decoder.DisallowUnknownFields()
	if decoder.Decode(into) != nil {
		return refuse.New(refuse.BadRequest, "the body is no JSON of this request")
	}
	return nil
}

// body counts what comes.
func (c *call) body() io.ReadCloser { return &counted{c.request.Body, &c.bytes} }

type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c *counted) Read(into []byte) (int, error) {
	read, err := c.ReadCloser.Read(into)
	c.bytes.Add(int64(read))
	return read, err
}

func (c *call) query(name string) string { return c.request.URL.Query().Get(name) }
