package state

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// maxLine is the longest message. A sandbox with 100 names and 10 rules of 20 headers has less than a tenth.
const maxLine = 1 << 20

// Reporter returns what the rules process has to hear beside confirmations: one value for each line, as JSON.
type Reporter func() []any

// Server lets one rules process push over a Unix socket. A newer connection ends the older one.
type Server struct {
	store  *Store
	log    *slog.Logger
	report Reporter
	every  time.Duration
	mutex  sync.Mutex
	last   net.Conn
}

// NewServer makes a server that sends what report returns once in the given time.
func NewServer(store *Store, log *slog.Logger, report Reporter, every time.Duration) *Server {
	return &Server{store: store, log: log, report: report, every: every}
}

// Serve accepts connections until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		s.takeOver(conn)
		go s.serve(ctx, conn)
	}
}

func (s *Server) takeOver(conn net.Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.last != nil {
		_ = s.last.Close()
	}
	s.last = conn
}

func (s *Server) serve(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer cancel()
	sender := &sender{encoder: json.NewEncoder(conn)}
	go s.sendReports(ctx, sender)
	session := &session{store: s.store, sender: sender}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if err := session.take(lines.Bytes()); err != nil {
			// The rules process connects again and sends everything anew.
			s.log.Error("a message of the rules process was refused", "reason", err)
			return
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Warn("the connection of the rules process broke", "reason", err)
	}
}

func (s *Server) sendReports(ctx context.Context, sender *sender) {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			for _, each := range s.report() {
				if sender.send(each) != nil {
					return
				}
			}
		}
	}
}

type sender struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (s *sender) send(value any) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.encoder.Encode(value)
}

// session is one connection of the rules process. Between reset and synced it gathers a view, and the one before stays in use.
type session struct {
	store     *Store
	sender    *sender
	gathering *view
	isWhole   bool
}

type applied struct {
	Type string `json:"type"`
	N    int64  `json:"n"`
}

func (s *session) take(line []byte) error {
	read, err := parseMessage(line)
	if err != nil {
		return err
	}
	if err := s.act(read); err != nil {
		return err
	}
	if read.N == 0 {
		return nil
	}
	return s.sender.send(applied{Type: "applied", N: read.N})
}

func (s *session) act(read message) error {
	switch read.Type {
	case "beat":
		s.store.beat(read.AgeMs)
		return nil
	case "reset":
		begun, err := read.begin()
		if err != nil {
			return err
		}
		s.gathering = begun
		return nil
	case "synced":
		if s.gathering == nil {
			return errors.New("synced came without reset")
		}
		s.store.replace(*s.gathering)
		s.gathering, s.isWhole = nil, true
		return nil
	}
	change, err := read.edit()
	if err != nil {
		return err
	}
	return s.edit(change)
}

func (s *session) edit(change edit) error {
	switch {
	case s.gathering != nil:
		change.make(s.gathering)
	case s.isWhole:
		s.store.apply(change)
	default:
		return errors.New("a change came before reset")
	}
	return nil
}
