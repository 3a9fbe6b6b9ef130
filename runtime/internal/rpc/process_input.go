package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	pb "sandlot.dev/runtime/internal/gen/process"
	"sandlot.dev/runtime/internal/process"
)

func (p *Processes) sendInput(ctx context.Context, r *connect.Request[pb.SendInputRequest]) (*pb.SendInputResponse, error) {
	found, err := p.live(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := feed(ctx, found, r.Msg.GetInput()); err != nil {
		return nil, err
	}
	return &pb.SendInputResponse{}, nil
}

func (p *Processes) streamInput(ctx context.Context, stream *connect.ClientStream[pb.StreamInputRequest]) (*connect.Response[pb.StreamInputResponse], error) {
	var to *process.Process
	for stream.Receive() {
		switch event := stream.Msg().GetEvent().(type) {
		case *pb.StreamInputRequest_Start:
			found, err := p.live(event.Start.GetProcess())
			if err != nil {
				return nil, err
			}
			to = found
		case *pb.StreamInputRequest_Data:
			if to == nil {
				return nil, fail(connect.CodeInvalidArgument, "the first message must be 'start'")
			}
			if err := feed(ctx, to, event.Data.GetInput()); err != nil {
				return nil, err
			}
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if to == nil {
		return nil, fail(connect.CodeInvalidArgument, "the first message must be 'start'")
	}
	return connect.NewResponse(&pb.StreamInputResponse{}), nil
}

func feed(ctx context.Context, to *process.Process, input *pb.ProcessInput) error {
	var err error
	switch given := input.GetInput().(type) {
	case *pb.ProcessInput_Stdin:
		err = to.WriteStdin(ctx, given.Stdin)
	case *pb.ProcessInput_Pty:
		err = to.WriteTerminal(ctx, given.Pty)
	default:
		return fail(connect.CodeInvalidArgument, "the input must be 'stdin' or 'pty'")
	}
	return inputError(ctx, err)
}

func (p *Processes) closeStdin(ctx context.Context, r *connect.Request[pb.CloseStdinRequest]) (*pb.CloseStdinResponse, error) {
	found, err := p.live(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := found.CloseStdin(ctx); err != nil {
		return nil, inputError(ctx, err)
	}
	return &pb.CloseStdinResponse{}, nil
}

func inputError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return contextError(ctx)
	case errors.Is(err, process.ErrExited):
		return connect.NewError(connect.CodeNotFound, err)
	case errors.Is(err, process.ErrCloseTerminal):
		return connect.NewError(connect.CodeUnknown, err)
	}
	return connect.NewError(connect.CodeInternal, err)
}
