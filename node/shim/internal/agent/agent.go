// Package agent asks the node's agent over its unix socket which snapshot a Pod is started from.
package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// DefaultSocket is where the agent listens.
const DefaultSocket = "/run/sandlot/node.sock"

const (
	// redialAfter is short, because an agent that restarts is away for about a second.
	redialAfter = 200 * time.Millisecond
	mostAnswer  = 64 << 10
)

// Client reaches one agent.
type Client struct {
	socket string
	limits Limits
	http   *http.Client
}

// Limits bound each kind of wait.
type Limits struct {
	// Dial is how long an agent that does not listen may take to come back.
	Dial time.Duration
	// Begin is longer than the time for which the agent itself waits for the announcement of a restore.
	Begin time.Duration
	// End is for a report, with all its attempts.
	End time.Duration
}

// DefaultLimits leave the kubelet, which waits four minutes for the sandbox of a Pod, time for the restore itself. The agent
// waits 100 s while the snapshot is on its way to the node.
var DefaultLimits = Limits{Dial: 10 * time.Second, Begin: 110 * time.Second, End: time.Minute}

// NewClient makes a client. It touches the socket at the first call.
func NewClient(socket string, limits Limits) *Client {
	dialer := &net.Dialer{}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
	}
	return &Client{socket: socket, limits: limits, http: &http.Client{Transport: transport}}
}

// Restore says which Pod is started from which snapshot.
type Restore struct {
	Namespace   string `json:"namespace"`
	PodName     string `json:"podName"`
	PodUID      string `json:"podUid"`
	SnapshotUID string `json:"snapshotUid"`
}

// Image is a snapshot to read: its memory, or the files of the containers alone.
type Image struct {
	// Path is the folder on the node. Empty: there are Files.
	Path       string `json:"imagePath"`
	Background bool   `json:"background"`
	Direct     bool   `json:"direct"`
	// Files are tars of the node, by container, with which a Pod boots.
	Files map[string]string `json:"files"`
}

// Outcome is how a restore ended.
type Outcome struct {
	PodUID   string `json:"podUid"`
	Restored bool   `json:"restored"`
	Message  string `json:"message"`
}

// Error is a refusal of the agent.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("the node agent refuses (%d %s): %s", e.Status, e.Code, e.Message)
}

// UnreachableError means that the agent has not seen the request.
type UnreachableError struct {
	Socket string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no node agent answers at %s: check the DaemonSet of the node agent on this node: %v", e.Socket, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Begin waits until the restore is announced, and takes it: no other start of a sandbox gets the same snapshot. An agent that
// ends meanwhile has given nothing away, and the next one is asked.
func (c *Client) Begin(ctx context.Context, restore Restore) (Image, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.Begin, fmt.Errorf("no answer of the node agent within %s", c.limits.Begin))
	defer cancel()
	var image Image
	err := c.redial(ctx, func() error { return c.post(ctx, "/v1/begin", restore, &image) })
	for isBusy(err) && pause(ctx) {
		err = c.redial(ctx, func() error { return c.post(ctx, "/v1/begin", restore, &image) })
	}
	if err != nil {
		return Image{}, err
	}
	return image, image.check()
}

func (i Image) check() error {
	if i.Path != "" && len(i.Files) > 0 {
		return errors.New("the node agent names a folder and files of the snapshot, and a Pod begins with one of them")
	}
	paths := []string{i.Path}
	if len(i.Files) > 0 {
		paths = slices.Collect(maps.Values(i.Files))
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return fmt.Errorf("the node agent names %q of the snapshot, which is no absolute path", path)
		}
	}
	return nil
}

func isBusy(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable
}

// Start asks whether a Pod that had a sandbox before may start without its memory.
func (c *Client) Start(ctx context.Context, podUID string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.Begin, fmt.Errorf("no answer of the node agent within %s", c.limits.Begin))
	defer cancel()
	question := map[string]string{"podUid": podUID}
	return c.redial(ctx, func() error { return c.post(ctx, "/v1/start", question, nil) })
}

// HasSocket reports whether an agent listens here, or did until it was killed.
func (c *Client) HasSocket() bool {
	_, err := os.Stat(c.socket)
	return err == nil
}

// IsAbsent reports whether there is no socket of an agent. An agent that was killed leaves its socket.
func IsAbsent(err error) bool {
	var unreachable *UnreachableError
	return errors.As(err, &unreachable) && errors.Is(err, fs.ErrNotExist)
}

// HasBegun reports whether the agent may hold the restore to be under way although Begin returned this error.
func HasBegun(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status >= http.StatusInternalServerError
	}
	var unreachable *UnreachableError
	return !errors.As(err, &unreachable)
}

// End reports how a restore ended. It tries again while the agent is away: until it knows, the restore counts as under way.
func (c *Client) End(ctx context.Context, outcome Outcome) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.End, fmt.Errorf("no answer of the node agent within %s", c.limits.End))
	defer cancel()
	for {
		err := c.post(ctx, "/v1/end", outcome, nil)
		var refused *Error
		if err == nil || errors.As(err, &refused) && refused.Status < http.StatusInternalServerError {
			return err
		}
		if !pause(ctx) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// redial repeats the call while no agent listens. A request that was sent is never repeated.
func (c *Client) redial(ctx context.Context, call func() error) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.Dial)
	defer cancel()
	for {
		err := call()
		var unreachable *UnreachableError
		if !errors.As(err, &unreachable) || !pause(ctx) {
			return err
		}
	}
}

// pause returns false when the time is over.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(redialAfter):
		return true
	}
}

func (c *Client) post(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return c.explain(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of the node agent: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return readRefusal(response.StatusCode, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the node agent answers %q: %w", text, err)
	}
	return nil
}

func (c *Client) explain(ctx context.Context, err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return &UnreachableError{Socket: c.socket, Err: dial.Err}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("ask the node agent: %w", err)
}

func readRefusal(status int, text []byte) error {
	refused := &Error{Status: status}
	if json.Unmarshal(text, refused) != nil || refused.Message == "" {
		refused.Message = string(text)
	}
	return refused
}
