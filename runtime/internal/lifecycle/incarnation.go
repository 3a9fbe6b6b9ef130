package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/identity"
	"sandlot.dev/runtime/internal/marks"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/records"
	"sandlot.dev/runtime/internal/restore"
	"sandlot.dev/runtime/internal/server"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/trust"
)

// clockTolerance is how far the clock of the installation may be behind that of the node. An /init that was signed earlier
// than this before a restore is a replay.
const clockTolerance = 5 * time.Minute

// daemon serves as one incarnation after the other: the first since its start, and a new one after each restore.
type daemon struct {
	detector    *restore.Detector
	table       *process.Table
	connections *connections
	trust       *trust.Store
	// records are those of one sandbox, which goes on in another Pod. A fork begins with none.
	records *records.Log
	// log is the log of the container; nil: this process cannot write to it.
	log *os.File

	// marking is held while the files that name the sandbox are written.
	marking sync.Mutex

	mu  sync.Mutex
	now atomic.Pointer[incarnation]
}

// incarnation is the daemon in one Pod: who may call it, how it shows who it is, and what /init said. A restore replaces
// the whole of it, so that nothing of the Pod that was saved can be forgotten to be forgotten.
type incarnation struct {
	// restores is the count of the detector.
	restores uint64
	config   config.Config
	store    *state.Store
	handlers []http.Handler
	// secure is nil if the Pod has no key for the daemon.
	secure *tls.Config
	// ended is done when the next incarnation begins.
	ended context.Context
	end   context.CancelFunc
}

// parts is what handlers of one incarnation share.
type parts struct {
	store    *state.Store
	table    *process.Table
	trust    *trust.Store
	records  *records.Log
	restored bool
	ended    context.Context
	// mark has the files that name the sandbox say what the settings of now say.
	mark func()
}

func newDaemon(c config.Config, table *process.Table, detector *restore.Detector) (*daemon, error) {
	table.After = detector.AfterFunc
	restores := detector.Count()
	secure, err := loadIdentity(c)
	if err != nil {
		return nil, err
	}
	var kept *state.File
	if c.Dir != "" {
		setSticky(c.Dir)
		kept = state.NewFile(c.Dir)
	}
	d := &daemon{detector: detector, table: table, connections: newConnections(), trust: trust.Open(c.Dir), records: records.NewLog(time.Now), log: openLog()}
	table.Witness = d.records.Start
	d.begin(incarnation{restores: restores, config: c, store: state.Open(kept, ownerOf(c)), secure: secure})
	return d, nil
}

func ownerOf(c config.Config) state.Owner {
	return state.Owner{SandboxUID: c.SandboxUID, PodUID: c.PodUID}
}

func (d *daemon) begin(next incarnation) {
	next.ended, next.end = context.WithCancel(context.Background())
	if err := trustAuthorities(d.trust, next.config.EgressCA, next.store.Current().CABundle); err != nil {
		logUntrusted(err)
	}
	d.recordAs(next.config)
	mark := func() { d.mark(next) }
	mark()
	next.handlers = handlers(next.config, parts{next.store, d.table, d.trust, d.records, next.restores > 0, next.ended, mark})
	d.now.Store(&next)
}

// recordAs has records kept where the settings say. In debug mode there is no Sandbox by which readers of a log would know them.
func (d *daemon) recordAs(c config.Config) {
	if !c.RecordsInLog || c.SandboxUID == "" || d.log == nil {
		d.records.Forward(nil)
		return
	}
	marker := records.Marker{Out: d.log, Err: d.log, UID: func() string { return c.SandboxUID }}
	d.records.Forward(marker.Write)
}

// mark writes the files that name the sandbox. A developer's machine, in debug mode, is no sandbox. Settings are read under the
// lock, so that of two changes at a time the files have the later one.
func (d *daemon) mark(of incarnation) {
	d.marking.Lock()
	defer d.marking.Unlock()
	if len(of.config.PublicKeys) == 0 || of.ended.Err() != nil {
		return
	}
	if err := marks.Write(of.config.MarksDir, of.store.Current()); err != nil {
		slog.Error("the files that name the sandbox could not be written", "error", err)
	}
}

// current returns the incarnation for the Pod of now. Every request asks for it, because a restored daemon gets requests
// before any of its own goroutines may have noticed the restore.
func (d *daemon) current() *incarnation {
	if now := d.now.Load(); d.detector.Count() == now.restores {
		return now
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.now.Load()
	restores := d.detector.Count()
	if restores == last.restores {
		return last
	}
	d.begin(d.succeed(last, restores))
	last.end()
	d.connections.closeAll()
	return d.now.Load()
}

// succeed decides what follows an incarnation. What is wrong in the new Pod makes it refuse callers.
func (d *daemon) succeed(last *incarnation, restores uint64) incarnation {
	next := incarnation{restores: restores}
	var errs [3]error
	next.config, errs[0] = last.config.ReadAgain(d.detector.Environ())
	next.secure, errs[1] = loadIdentity(next.config)
	next.store, errs[2] = last.store.Succeed(ownerOf(next.config), time.Now().Add(-clockTolerance).UnixMilli())
	if next.config.SandboxUID != last.config.SandboxUID {
		d.records.Clear()
	}
	if err := errors.Join(errs[:]...); err != nil {
		slog.Error("the sandbox was restored into a Pod that is not as it should be", "error", err)
	}
	return next
}

type incarnationKey struct{}

// follow notes the connections of a server and the incarnation that each belongs to.
func (d *daemon) follow(server *http.Server) {
	if d.detector == nil {
		return
	}
	server.ConnState = d.connections.note
	server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, incarnationKey{}, d.current())
	}
}

// handler returns the handler of a port. Requests end with the incarnation that their connection belongs to.
func (d *daemon) handler(index int) http.Handler {
	if d.detector == nil {
		return d.now.Load().handlers[index]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := d.current()
		if r.Context().Value(incarnationKey{}) != now {
			panic(http.ErrAbortHandler)
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(now.ended, cancel)()
		now.handlers[index].ServeHTTP(w, r.WithContext(ctx))
	})
}

// listen opens the ports in order; nil for those that are 0. With an identity they serve TLS as well.
func (d *daemon) listen(ports ...int) ([]net.Listener, error) {
	listeners := make([]net.Listener, len(ports))
	for index, port := range ports {
		if port == 0 {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("listening for clients: %w", err)
		}
		if secure := d.secure(); secure != nil {
			listener = identity.Both(listener, secure, server.ReadHeaderTimeout)
		}
		listeners[index] = listener
	}
	return listeners, nil
}

var errNoKey = errors.New("the Pod has no key for the daemon")

// secure returns the settings of TLS: with the key of the Pod in which a handshake happens. Nil: there is none, and never
// will be.
func (d *daemon) secure() *tls.Config {
	if d.detector == nil {
		return d.now.Load().secure
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if secure := d.current().secure; secure != nil {
				return secure, nil
			}
			return nil, errNoKey
		},
	}
}
