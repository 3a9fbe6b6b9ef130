package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"connectrpc.com/connect"

	"sandlot.dev/runtime/internal/agentsandbox"
	pb "sandlot.dev/runtime/internal/gen/sandboxd"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
)

// endOfTransmission ends the input of a program that reads lines from a terminal.
const endOfTransmission = 0x04

// Sandboxd serves process.v1.ProcessService (docs/reference/runtime.md#sandboxd), over gRPC and over Connect.
type Sandboxd struct {
	table *process.Table
	root  agentsandbox.Root
}

// NewSandboxd returns the service for the processes of a table, whose directories are below the root.
func NewSandboxd(table *process.Table, root agentsandbox.Root) *Sandboxd {
	return &Sandboxd{table: table, root: root}
}

// Register adds the routes of the service. sandboxd.Guard decides who may call them, and bounds the reading of bodies.
func (s *Sandboxd) Register(mux *http.ServeMux) {
	const service = "/process.v1.ProcessService/"
	const start = service + "Start"
	mux.Handle(start, writable(connect.NewServerStreamHandler(start, s.start, sandboxdOptions()...)))
	sandboxdUnary(mux, service+"Execute", s.execute)
	sandboxdUnary(mux, service+"WriteStdin", s.writeStdin)
	sandboxdUnary(mux, service+"SendSignal", s.sendSignal)
	sandboxdUnary(mux, service+"ResizeTTY", s.resizeTTY)
}

// sandboxdOptions keep the codecs of connect-go: clients of gRPC send binary messages.
func sandboxdOptions() []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithCompression("gzip", nil, nil), connect.WithReadMaxBytes(maxMessageBytes)}
}

func sandboxdUnary[Req, Res any](mux *http.ServeMux, path string, serve func(context.Context, *Req) (*Res, error)) {
	handler := connect.NewUnaryHandler(path, func(ctx context.Context, r *connect.Request[Req]) (*connect.Response[Res], error) {
		response, err := serve(ctx, r.Msg)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(response), nil
	}, sandboxdOptions()...)
	mux.Handle(path, writable(handler))
}

// begin starts the process of a request.
func (s *Sandboxd) begin(config *pb.ProcessConfig, more session.Command) (*process.Process, *process.Subscription, error) {
	command := config.GetCommand()
	if len(command) == 0 {
		return nil, nil, fail(connect.CodeInvalidArgument, "'config.command' must name a program")
	}
	at, err := s.root.Place()
	if err != nil {
		return nil, nil, connect.NewError(connect.CodeInternal, err)
	}
	cwd, inside := at.Inside(config.GetCwd())
	if !inside {
		return nil, nil, fail(connect.CodePermissionDenied, "'config.cwd' is outside of the base directory")
	}
	more.Cmd, more.Args, more.Env, more.Cwd = command[0], command[1:], config.GetEnvVars(), cwd
	spec, err := s.root.Session.Spec(at.User, more)
	if err != nil {
		return nil, nil, startError(err)
	}
	running, subscription, err := s.table.Start(spec, nil, nil)
	if err != nil {
		return nil, nil, startError(err)
	}
	return running, subscription, nil
}

func (s *Sandboxd) execute(ctx context.Context, r *pb.ExecuteRequest) (*pb.ExecuteResponse, error) {
	running, subscription, err := s.begin(r.GetConfig(), session.Command{})
	if err != nil {
		return nil, err
	}
	defer subscription.Close()
	outcome, ok := agentsandbox.Await(ctx, agentsandbox.Command{Process: running, Subscription: subscription})
	if !ok {
		return nil, contextError(ctx)
	}
	return &pb.ExecuteResponse{
		ExitCode: int32(outcome.ExitCode), Stdout: outcome.Stdout.Bytes(), Stderr: outcome.Stderr.Bytes(),
	}, nil
}

// start streams a process, which ends with its stream: these clients cannot attach to it again.
func (s *Sandboxd) start(ctx context.Context, r *connect.Request[pb.StartRequest], stream *connect.ServerStream[pb.StartResponse]) error {
	terminal, err := sandboxdSize(r.Msg.GetPty())
	if err != nil {
		return err
	}
	running, subscription, err := s.begin(r.Msg.GetConfig(), session.Command{Terminal: terminal, Stdin: true})
	if err != nil {
		return err
	}
	defer subscription.Close()
	send := func(response *pb.StartResponse) error {
		extendWrite(ctx)
		err := stream.Send(response)
		if err != nil {
			running.Abandon()
		}
		return err
	}
	if err := send(&pb.StartResponse{Event: &pb.StartResponse_Init{Init: &pb.InitEvent{ProcessId: int32(running.Pid)}}}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			running.Abandon()
			return contextError(ctx)
		case event := <-subscription.Events():
			if err := send(toResponse(event)); err != nil || event.End != nil {
				return err
			}
		}
	}
}

// toResponse has no event of its own for a terminal, which has one output.
func toResponse(event process.Event) *pb.StartResponse {
	switch {
	case event.End != nil:
		return &pb.StartResponse{Event: &pb.StartResponse_Exit{Exit: &pb.ExitEvent{ExitCode: int32(event.End.ExitCode)}}}
	case event.Stream == process.Stderr:
		return &pb.StartResponse{Event: &pb.StartResponse_Stderr{Stderr: event.Data}}
	}
	return &pb.StartResponse{Event: &pb.StartResponse_Stdout{Stdout: event.Data}}
}

// find returns the running process of an id.
func (s *Sandboxd) find(id int32) (*process.Process, error) {
	found := s.table.ByPid(int(id))
	if found == nil || found.Exited() {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("no process with 'process_id' %d runs", id))
	}
	return found, nil
}

func (s *Sandboxd) writeStdin(ctx context.Context, r *pb.WriteStdinRequest) (*pb.WriteStdinResponse, error) {
	found, err := s.find(r.GetProcessId())
	if err != nil {
		return nil, err
	}
	write := found.WriteStdin
	if found.HasTerminal() {
		write = found.WriteTerminal
	}
	switch payload := r.GetPayload().(type) {
	case *pb.WriteStdinRequest_Input:
		err = write(ctx, payload.Input)
	case *pb.WriteStdinRequest_Eof:
		if found.HasTerminal() {
			err = write(ctx, []byte{endOfTransmission})
		} else {
			err = found.CloseStdin(ctx)
		}
	default:
		return nil, fail(connect.CodeInvalidArgument, "the payload must be 'input' or 'eof'")
	}
	if errors.Is(err, process.ErrNoInput) {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	if err != nil {
		return nil, inputError(ctx, err)
	}
	return &pb.WriteStdinResponse{}, nil
}

func (s *Sandboxd) sendSignal(_ context.Context, r *pb.SendSignalRequest) (*pb.SendSignalResponse, error) {
	found, err := s.find(r.GetProcessId())
	if err != nil {
		return nil, err
	}
	switch r.GetSignal() {
	case pb.Signal_SIGNAL_SIGINT:
		err = found.Interrupt()
	case pb.Signal_SIGNAL_SIGTERM:
		err = found.Signal(syscall.SIGTERM)
	case pb.Signal_SIGNAL_SIGKILL:
		err = found.Signal(syscall.SIGKILL)
	default:
		return nil, fail(connect.CodeInvalidArgument, "'signal' must be SIGNAL_SIGINT, SIGNAL_SIGTERM or SIGNAL_SIGKILL")
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeNotFound, err)
	}
	return &pb.SendSignalResponse{}, nil
}

func (s *Sandboxd) resizeTTY(_ context.Context, r *pb.ResizeTTYRequest) (*pb.ResizeTTYResponse, error) {
	size, err := toSize(r.GetCols(), r.GetRows())
	if err != nil {
		return nil, err
	}
	found, err := s.find(r.GetProcessId())
	if err != nil {
		return nil, err
	}
	if err := found.Resize(*size); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return &pb.ResizeTTYResponse{}, nil
}

// sandboxdSize returns the size of a terminal; nil without one.
func sandboxdSize(terminal *pb.PTY) (*process.Size, error) {
	if terminal == nil {
		return nil, nil
	}
	return toSize(terminal.GetCols(), terminal.GetRows())
}
