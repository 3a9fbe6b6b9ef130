package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/files"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/reaper"
	"sandlot.dev/runtime/internal/rpc"
	"sandlot.dev/runtime/internal/server"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/users"
)

const (
	// retainEnd is how long an ended process can be asked about.
	retainEnd = 30 * time.Second
	// stopTimeout is how long requests may take to end once the daemon is told to.
	stopTimeout = 2 * time.Second
	// gcPercent and memoryLimit keep the daemon small: it shares its memory limit with the workload. They are set here
	// and not by GOGC and GOMEMLIMIT, since the environment is that of the tenant's programs.
	gcPercent   = 50
	memoryLimit = 96 << 20
	maxThreads  = 4
)

// Serve runs the daemon until a signal to end.
func Serve(c config.Config) error {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), maxThreads))
	end, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(c.EnvdPort)))
	if err != nil {
		return fmt.Errorf("listening for clients: %w", err)
	}
	table := process.NewTable(reaper.Run(), retainEnd)
	defer table.KillAll()
	envd := server.New(envdHandler(c, table))
	failed := make(chan error, 1)
	go func() { failed <- envd.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-end.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := envd.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func envdHandler(c config.Config, table *process.Table) http.Handler {
	var kept *state.File
	if c.Dir != "" {
		kept = state.NewFile(c.Dir)
	}
	store := state.Open(kept)
	managed := c.PublicKey != nil
	s := session.New(users.Machine(), store, session.Defaults{User: c.DefaultUser, Workdir: c.Workdir})
	rpcs := http.NewServeMux()
	rpc.NewProcesses(table, s).Register(rpcs)
	transfer := &files.Service{Session: s, Store: store, Managed: managed, Now: time.Now}
	return server.Envd(server.NewGate(store, managed), []server.Route{
		{Path: "/health", Handler: server.Only(http.MethodGet, server.Health())},
		{Path: "/init", Handler: server.Only(http.MethodPost, &server.Init{Store: store, PublicKey: c.PublicKey, SandboxUID: c.SandboxUID})},
		{Path: "/envs", Handler: server.Only(http.MethodGet, server.Envs(store))},
		{Path: "/files", Handler: transfer.Files()},
		{Path: server.TunnelPath, Handler: server.Only(http.MethodGet, server.Tunnel())},
		{Path: "/process.Process/", Handler: rpcs},
	})
}
