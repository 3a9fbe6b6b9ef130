package rpc

import (
	"context"
	"errors"
	"net/http"
	"syscall"

	"connectrpc.com/connect"

	pb "sandlot.dev/runtime/internal/gen/process"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
)

// Processes serves process.Process (docs/reference/runtime.md#processes).
type Processes struct {
	table   *process.Table
	session *session.Session
}

// NewProcesses returns the service for the processes of a table.
func NewProcesses(table *process.Table, s *session.Session) *Processes {
	return &Processes{table: table, session: s}
}

// Register adds the routes of the service.
func (p *Processes) Register(mux *http.ServeMux) {
	const service = "/process.Process/"
	unary(mux, service+"List", p.list)
	serverStream(mux, service+"Start", p.start)
	serverStream(mux, service+"Connect", p.connect)
	unary(mux, service+"Update", p.update)
	unary(mux, service+"SendInput", p.sendInput)
	unary(mux, service+"SendSignal", p.sendSignal)
	unary(mux, service+"CloseStdin", p.closeStdin)
	const streamInput = service + "StreamInput"
	mux.Handle(streamInput, guard(connect.NewClientStreamHandler(streamInput, p.streamInput, options()...)))
}

func (p *Processes) list(context.Context, *connect.Request[pb.ListRequest]) (*pb.ListResponse, error) {
	response := &pb.ListResponse{}
	for _, each := range p.table.Live() {
		config, ok := each.About.(*pb.ProcessConfig)
		if !ok {
			continue
		}
		response.Processes = append(response.Processes, &pb.ProcessInfo{Config: config, Pid: uint32(each.Pid), Tag: each.Tag})
	}
	return response, nil
}

// find returns the process of a selector, running or ended a short while ago.
func (p *Processes) find(selector *pb.ProcessSelector) (*process.Process, error) {
	var found *process.Process
	switch by := selector.GetSelector().(type) {
	case *pb.ProcessSelector_Pid:
		found = p.table.ByPid(int(by.Pid))
	case *pb.ProcessSelector_Tag:
		found = p.table.ByTag(by.Tag)
	default:
		return nil, fail(connect.CodeInvalidArgument, "the process must be named by 'pid' or 'tag'")
	}
	if found == nil {
		return nil, fail(connect.CodeNotFound, "no such process: "+selector.String())
	}
	return found, nil
}

// live is find for requests that need a running process.
func (p *Processes) live(selector *pb.ProcessSelector) (*process.Process, error) {
	found, err := p.find(selector)
	if err != nil {
		return nil, err
	}
	if found.Exited() {
		return nil, fail(connect.CodeNotFound, "the process has exited: "+selector.String())
	}
	return found, nil
}

func (p *Processes) sendSignal(_ context.Context, r *connect.Request[pb.SendSignalRequest]) (*pb.SendSignalResponse, error) {
	found, err := p.live(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	var sig syscall.Signal
	switch r.Msg.GetSignal() {
	case pb.Signal_SIGNAL_SIGTERM:
		sig = syscall.SIGTERM
	case pb.Signal_SIGNAL_SIGKILL:
		sig = syscall.SIGKILL
	default:
		return nil, fail(connect.CodeUnimplemented, "only SIGNAL_SIGTERM and SIGNAL_SIGKILL can be sent")
	}
	if err := found.Signal(sig); err != nil {
		return nil, fail(connect.CodeNotFound, err.Error())
	}
	return &pb.SendSignalResponse{}, nil
}

func (p *Processes) update(_ context.Context, r *connect.Request[pb.UpdateRequest]) (*pb.UpdateResponse, error) {
	found, err := p.live(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if r.Msg.GetPty() == nil {
		return &pb.UpdateResponse{}, nil
	}
	size, err := sizeOf(r.Msg.GetPty())
	if err != nil {
		return nil, err
	}
	if err := found.Resize(*size); err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return &pb.UpdateResponse{}, nil
}

// sizeOf returns the size of a terminal; nil without one.
func sizeOf(terminal *pb.PTY) (*process.Size, error) {
	if terminal == nil {
		return nil, nil
	}
	return toSize(terminal.GetSize().GetCols(), terminal.GetSize().GetRows())
}

func toSize(cols, rows uint32) (*process.Size, error) {
	const most = 1<<16 - 1
	if cols > most || rows > most {
		return nil, fail(connect.CodeInvalidArgument, "a terminal has at most 65535 columns and rows")
	}
	return &process.Size{Cols: uint16(cols), Rows: uint16(rows)}, nil
}

// startError maps an error of a start. What keeps a program from running is the client's mistake.
func startError(err error) error {
	var input *session.InputError
	var start *process.StartError
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) {
		return connect.NewError(connect.CodeResourceExhausted, err)
	}
	if errors.As(err, &input) || errors.As(err, &start) {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return connect.NewError(connect.CodeInternal, err)
}
