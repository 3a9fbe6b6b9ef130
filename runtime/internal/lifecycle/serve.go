package lifecycle

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"sandlot.dev/runtime/internal/agentsandbox"
	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/execapi"
	"sandlot.dev/runtime/internal/files"
	"sandlot.dev/runtime/internal/identity"
	"sandlot.dev/runtime/internal/idle"
	"sandlot.dev/runtime/internal/metrics"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/proof"
	"sandlot.dev/runtime/internal/reaper"
	"sandlot.dev/runtime/internal/records"
	"sandlot.dev/runtime/internal/restore"
	"sandlot.dev/runtime/internal/rpc"
	"sandlot.dev/runtime/internal/sandboxd"
	"sandlot.dev/runtime/internal/server"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/users"
)

const (
	// retainEnd is how long clients can ask about an ended process.
	retainEnd = 30 * time.Second
	// stopTimeout is how long running requests may take during shutdown.
	stopTimeout = 2 * time.Second
	// gcPercent and memoryLimit keep the daemon small, because it shares its memory limit with the workload. GOGC and
	// GOMEMLIMIT would not do: the environment belongs to the tenant's programs.
	gcPercent   = 50
	memoryLimit = 96 << 20
	maxThreads  = 4
)

// started is when the daemon started.
var started = time.Now()

// Serve runs the daemon until SIGTERM or SIGINT.
func Serve(c config.Config) error {
	users.ForbidDumps()
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), maxThreads))
	end, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	table := process.NewTable(reaper.Run(), retainEnd)
	defer table.KillAll()
	d, err := newDaemon(c, table, restore.Open())
	if err != nil {
		return err
	}
	listeners, err := d.listen(c.EnvdPort, c.ExecPort, c.Sandboxd.Files, c.Sandboxd.Processes)
	if err != nil {
		return err
	}
	go d.detector.Watch(func() { d.current() })
	failed := make(chan error, len(listeners))
	servers := []*http.Server{}
	for index, listener := range listeners {
		if listener == nil {
			continue
		}
		next := server.New(idle.Trimming(d.handler(index)))
		if index == sandboxdProcesses {
			listener = server.WithHTTP2(next, listener)
		}
		d.follow(next)
		servers = append(servers, next)
		go func() { failed <- next.Serve(listener) }()
	}
	select {
	case err := <-failed:
		return err
	case <-end.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, each := range servers {
		// Requests that still run end with the process.
		_ = each.Shutdown(ctx)
	}
	return nil
}

// sandboxdProcesses is the index of the port that clients of gRPC use.
const sandboxdProcesses = 3

// loadIdentity reads the key that the Pod mounts, else the one that the installer left beside this program; nil: there is
// none, and callers speak plainly.
func loadIdentity(c config.Config) (*tls.Config, error) {
	if c.IdentityFile != "" {
		return identity.LoadMounted(c.IdentityFile, c.Identity)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the key of the sandbox: %w", err)
	}
	return identity.Load(filepath.Dir(self))
}

// handlers returns the handlers of the daemon's port, of the agent-sandbox API, and of files and processes of sandboxd, in
// the order of the ports of listen. They share users, settings and processes.
func handlers(c config.Config, shared parts) []http.Handler {
	store, table := shared.store, shared.table
	managed := len(c.PublicKeys) > 0
	gateway := proof.NewVerifier(c.GatewayKeys, c.SandboxUID, time.Now)
	s := session.New(users.Machine(), store, session.Defaults{User: c.DefaultUser, Workdir: c.Workdir, Trusted: shared.trust.Variables, Marked: managed})
	add := func(bundle string) error { return trustAuthorities(shared.trust, c.EgressCA, bundle) }
	rpcs := http.NewServeMux()
	rpc.NewProcesses(table, s).Register(rpcs)
	rpc.NewFilesystem(s).Register(rpcs)
	// In debug mode every caller is let in.
	isGateway := func(r *http.Request) bool { return !managed || gateway.IsFromGateway(r) }
	transfer := &files.Service{Session: s, Store: store, Managed: managed, Now: time.Now}
	envd := server.Envd(server.NewGate(store, managed), []server.Route{
		{Path: "/health", Handler: server.Only(http.MethodGet, server.Health())},
		{Path: server.ProvePath, Handler: server.Only(http.MethodPost, server.Prove(store))},
		{Path: "/init", Handler: server.Only(http.MethodPost, &server.Init{Store: store, PublicKeys: c.PublicKeys, SandboxUID: c.SandboxUID, Restored: shared.restored, Trust: add, Mark: shared.mark})},
		{Path: "/envs", Handler: server.Only(http.MethodGet, server.Envs(s))},
		{Path: records.Path, Handler: server.Only(http.MethodGet, shared.records.Handler())},
		{Path: "/metrics", Handler: server.Only(http.MethodGet, metrics.NewMeter(metrics.Container, time.Now).Handler())},
		{Path: "/files", Handler: transfer.Files()},
		{Path: "/files/compose", Handler: server.Only(http.MethodPost, transfer.Compose())},
		{Path: server.TunnelPath, Handler: server.Only(http.MethodGet, server.Tunnel(shared.ended, isGateway))},
		{Path: "/process.Process/", Handler: rpcs},
		{Path: "/filesystem.Filesystem/", Handler: rpcs},
	})
	root := agentsandbox.Root{Session: s, BaseDir: c.Exec.BaseDir}
	gate := &agentsandbox.Gate{Store: store, Managed: managed, Access: c.ExecAccess, NeedsProof: c.ExecProof, Gateway: gateway}
	exec := &execapi.Service{Root: root, Table: table, Timeout: c.Exec.Timeout, Argv: c.Exec.Argv, Gate: gate}
	processes := http.NewServeMux()
	rpc.NewSandboxd(table, root).Register(processes)
	return []http.Handler{envd, exec, &sandboxd.Files{Root: root, Gate: gate, Started: started}, sandboxd.Guard(gate, processes)}
}
