// Package agent is the process of the agent: what it opens, in which order, and how it ends.
package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"sandlot.dev/node/internal/api"
	"sandlot.dev/node/internal/grants"
	"sandlot.dev/node/internal/remote"
	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

const (
	briefLimit      = 30 * time.Second
	checkpointLimit = 10 * time.Minute
	resumeLimit     = time.Minute
	flushLimit      = 10 * time.Second
	// These belong to the contract with shim and controller.
	beginLimit     = 30 * time.Second
	mostBeginLimit = 100 * time.Second
	arrivalGrace   = 30 * time.Second
	keepGrants     = time.Hour
	pruneEvery     = 10 * time.Minute
	// undoLimit bounds how long undone saves may take to let their Pods go on.
	undoLimit = 15 * time.Second
	// goodbye bounds how long answers may take after that.
	goodbye = 2 * time.Second
	// recoveries are tried before the agent serves without those Pods that may stand still.
	recoveries    = 3
	recoveryPause = time.Second
	// writable is W_OK of access(2).
	writable = 2
)

// process is a running agent.
type process struct {
	Settings
	metrics *metrics
	ready   *readiness
	store   *store.Store
	saver   *save.Saver
	grants  *grants.Ledger
	machine *runsc.Machine
	// remote is nil without a bucket.
	remote *remote.Remote
	// failed has the error of a server that ended.
	failed chan error
}

// Run serves until the context ends. Saves are then finished or undone, and it returns when no Pod stands still without its
// snapshot, or with an error.
func Run(ctx context.Context, settings Settings) error {
	identity, err := api.OpenIdentity(settings.TLSDir)
	if err != nil {
		return fmt.Errorf("the TLS files of %s cannot be used: %w", settings.TLSDir, err)
	}
	p := &process{Settings: settings, metrics: newMetrics(), ready: &readiness{}, failed: make(chan error, 3)}
	p.ready.set("the agent starts")
	// Saves outlive the request to stop, for a while.
	saving, undo := context.WithCancelCause(context.WithoutCancel(ctx))
	defer undo(nil)
	if err := p.open(saving); err != nil {
		return err
	}
	defer p.close()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	probing, err := p.listenProbes(requests)
	if err != nil {
		return err
	}
	defer probing.Close()
	p.recover(ctx)
	servers, err := p.listen(requests, identity)
	if err != nil {
		return err
	}
	p.ready.set("")
	slog.Info("the agent serves", "node", p.Node, "listen", p.Listen, "socket", p.Socket)
	err = p.work(ctx)
	p.ready.set("the agent ends")
	cut()
	return errors.Join(err, p.stop(servers, undo))
}

func (p *process) open(saving context.Context) error {
	r := runsc.Runsc{
		Binary: p.Runsc, Root: p.RunscRoot,
		Limits: runsc.Limits{Brief: briefLimit, Checkpoint: checkpointLimit, Restore: checkpointLimit},
	}
	p.machine = runsc.NewMachine(r)
	var err error
	if p.store, err = store.Open(p.Root, store.Options{KeepFreeBytes: p.KeepFreeBytes}); err != nil {
		return err
	}
	p.grants, err = grants.Open(grants.Options{
		Folder: filepath.Join(p.State, "restores"), Store: p.store, Machine: p.machine.Describe,
		BeginLimit: beginLimit, MostBeginLimit: mostBeginLimit, ArrivalGrace: arrivalGrace, MostRestores: p.MostRestores, DirectReads: p.DirectRestores && p.store.CanReadDirectly(), KeepFor: keepGrants, Now: time.Now, Observe: p.metrics.observeRestore,
	})
	if err != nil {
		return errors.Join(err, p.store.Close())
	}
	p.saver, err = save.New(saving, save.Options{
		Runsc: r, Store: p.store, Machine: p.machine.Describe, IntentFolder: filepath.Join(p.State, "intents"),
		MostSaves: p.MostSaves, SpareBytes: p.WantedBytes, MostFilesBytes: p.MostFilesBytes, ResumeLimit: resumeLimit, IsSpent: p.grants.IsSpent, Now: time.Now, Observe: p.metrics.observeSave,
		Flush: syscall.Sync, FlushLimit: flushLimit,
	})
	if err != nil {
		return errors.Join(err, p.grants.Close(), p.store.Close())
	}
	if err := p.openRemote(); err != nil {
		return errors.Join(err, p.grants.Close(), p.store.Close())
	}
	p.metrics.watch(p.store, p.saver, p.grants)
	return nil
}

func (p *process) openRemote() error {
	if !p.HasBucket() {
		return nil
	}
	var err error
	p.remote, err = remote.New(remote.Options{
		Settings: p.S3, Store: p.store, MostTransfers: p.MostTransfers, Observe: p.metrics.observeTransfer,
		Arrive: func(key store.Key) func() { return p.grants.Arrive(key.Namespace) },
	})
	return err
}

func (p *process) close() {
	if p.remote != nil {
		p.remote.Close()
	}
	if err := errors.Join(p.grants.Close(), p.store.Close()); err != nil {
		slog.Error("the store does not close", "error", err.Error())
	}
}

// recover resumes the Pods that an earlier agent left paused. A Pod that cannot be resumed keeps its intent for the next
// agent, and does not keep this one from serving the others.
func (p *process) recover(ctx context.Context) {
	for try := 1; ; try++ {
		err := p.saver.Recover(ctx)
		if err == nil {
			return
		}
		slog.Error("Pods may stand still after a save of an earlier agent", "try", try, "error", err.Error())
		if try == recoveries || ctx.Err() != nil {
			p.metrics.unrecovered.Set(1)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(recoveryPause):
		}
	}
}

func (p *process) listenProbes(requests context.Context) (*http.Server, error) {
	listener, err := net.Listen("tcp", p.Metrics)
	if err != nil {
		return nil, err
	}
	return p.serve(requests, listener, probes(p.ready, p.metrics.registry, p.check)), nil
}

// check finds what the agent lacks of its node.
func (p *process) check(r *http.Request) error {
	// A pause that cannot be recorded there would never be undone.
	if err := syscall.Access(p.RunscRoot, writable); err != nil {
		return fmt.Errorf("gVisor's folder %s cannot be written to: %w", p.RunscRoot, err)
	}
	_, err := p.machine.Describe(r.Context())
	return err
}

// listen serves the two APIs. The socket comes first: its mode depends on that of the process.
func (p *process) listen(requests context.Context, identity *api.Identity) ([]*http.Server, error) {
	agent := &api.Agent{Node: p.Node, Store: p.store, Saver: p.saver, Grants: p.grants, Machine: p.machine.Describe, Remote: p.remote}
	shim, err := api.ListenUnix(p.Socket)
	if err != nil {
		return nil, err
	}
	controller, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return nil, errors.Join(err, shim.Close())
	}
	return []*http.Server{
		p.serve(requests, shim, agent.Shim()),
		p.serve(requests, tls.NewListener(controller, identity.Config()), agent.Controller()),
	}, nil
}

func (p *process) serve(requests context.Context, listener net.Listener, handler http.Handler) *http.Server {
	server := api.NewServer(requests, handler)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.failed <- fmt.Errorf("%s: %w", listener.Addr(), err)
		}
	}()
	return server
}

// work prunes until the agent is asked to stop, or a server fails.
func (p *process) work(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		if err := p.grants.Prune(); err != nil {
			slog.Error("old restores stay", "error", err.Error())
		}
		if err := p.saver.Prune(ctx); err != nil && ctx.Err() == nil {
			slog.Error("old records of Pods stay", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-p.failed:
			return err
		case <-ticker.C:
		}
	}
}

// stop takes no more requests, lets saves end, and undoes those that do not in time.
func (p *process) stop(servers []*http.Server, undo context.CancelCauseFunc) error {
	if p.remote != nil {
		// A transfer goes on where it was when the controller asks the next agent.
		p.remote.Close()
	}
	// Nothing can release them any more.
	p.saver.EndHolds()
	ended := make(chan struct{})
	leaving, leave := context.WithTimeout(context.Background(), p.Grace+undoLimit+goodbye)
	defer leave()
	go func() {
		for _, server := range servers {
			_ = server.Shutdown(leaving)
		}
		p.saver.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(p.Grace):
	}
	slog.Warn("saves in progress are undone")
	undo(errors.New("the agent ends: ask the next one"))
	select {
	case <-ended:
		return nil
	case <-leaving.Done():
		return errors.New("saves are still in progress: the next agent lets their Pods go on")
	}
}
