package api

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	headerLimit = 10 * time.Second
	idleLimit   = 2 * time.Minute
	mostHeader  = 16 << 10
)

// NewServer bounds what a caller can take of the agent. Requests end when base does.
func NewServer(base context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    mostHeader,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
}

// ListenUnix listens on a socket that only root can use. It replaces the one of an earlier agent. No other goroutine may
// make files meanwhile.
func ListenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}
