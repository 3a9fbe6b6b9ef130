package rpc

import (
	"context"
	"time"

	"connectrpc.com/connect"

	pb "sandlot.dev/runtime/internal/gen/process"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
)

func (p *Processes) start(ctx context.Context, r *connect.Request[pb.StartRequest], stream *connect.ServerStream[pb.StartResponse]) error {
	user, err := userOf(p.session, r.Header())
	if err != nil {
		return err
	}
	terminal, err := sizeOf(r.Msg.GetPty())
	if err != nil {
		return err
	}
	config := r.Msg.GetProcess()
	if config == nil {
		config = &pb.ProcessConfig{}
	}
	spec, err := p.session.Spec(user, session.Command{
		Cmd:      config.GetCmd(),
		Args:     config.GetArgs(),
		Env:      config.GetEnvs(),
		Cwd:      config.GetCwd(),
		Terminal: terminal,
		Stdin:    r.Msg.Stdin == nil || r.Msg.GetStdin(),
	})
	if err != nil {
		return startError(err)
	}
	running, subscription, err := p.table.Start(spec, r.Msg.Tag, config)
	if err != nil {
		return startError(err)
	}
	defer subscription.Close()
	expired := make(chan struct{})
	if deadline, limited := ctx.Deadline(); limited {
		// The deadline bounds the process even if this client disconnects. It ends this stream directly, without
		// waiting for the end of the process.
		running.KillAfter(time.Until(deadline), func() {
			subscription.Close()
			close(expired)
		})
	}
	out := newSender(ctx, r.Header(), stream, &pb.StartResponse{Event: keepalive})
	defer out.stop()
	return relay(ctx, follower{
		pid:          running.Pid,
		subscription: subscription,
		expired:      expired,
		send:         func(event *pb.ProcessEvent) error { return out.send(&pb.StartResponse{Event: event}) },
		silent:       out.timer.C,
		ping:         out.ping,
	})
}

func (p *Processes) connect(ctx context.Context, r *connect.Request[pb.ConnectRequest], stream *connect.ServerStream[pb.ConnectResponse]) error {
	found, err := p.find(r.Msg.GetProcess())
	if err != nil {
		return err
	}
	subscription := found.Subscribe()
	defer subscription.Close()
	out := newSender(ctx, r.Header(), stream, &pb.ConnectResponse{Event: keepalive})
	defer out.stop()
	return relay(ctx, follower{
		pid:          found.Pid,
		subscription: subscription,
		send:         func(event *pb.ProcessEvent) error { return out.send(&pb.ConnectResponse{Event: event}) },
		silent:       out.timer.C,
		ping:         out.ping,
	})
}

// follower is one client's view of a process.
type follower struct {
	pid          int
	subscription *process.Subscription
	// expired is closed when the deadline of the process has passed, so that this client gets deadline_exceeded.
	expired <-chan struct{}
	send    func(*pb.ProcessEvent) error
	silent  <-chan time.Time
	ping    func() error
}

// relay sends the start, the output and the end of a process to one client.
func relay(ctx context.Context, f follower) error {
	if err := f.send(startEvent(f.pid)); err != nil {
		return err
	}
	for {
		select {
		case <-f.expired:
			return errExpired()
		case <-ctx.Done():
			return contextError(ctx)
		case <-f.silent:
			if err := f.ping(); err != nil {
				return err
			}
		case event := <-f.subscription.Events():
			if event.End != nil && isClosed(f.expired) {
				return errExpired()
			}
			if err := f.send(toEvent(event)); err != nil {
				return err
			}
			if event.End != nil {
				return nil
			}
		}
	}
}

func errExpired() error {
	return fail(connect.CodeDeadlineExceeded, "the process took longer than its deadline and was killed")
}

func isClosed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

var keepalive = &pb.ProcessEvent{Event: &pb.ProcessEvent_Keepalive{Keepalive: &pb.ProcessEvent_KeepAlive{}}}

func startEvent(pid int) *pb.ProcessEvent {
	return &pb.ProcessEvent{Event: &pb.ProcessEvent_Start{Start: &pb.ProcessEvent_StartEvent{Pid: uint32(pid)}}}
}

func toEvent(event process.Event) *pb.ProcessEvent {
	if event.End != nil {
		end := &pb.ProcessEvent_EndEvent{ExitCode: int32(event.End.ExitCode), Exited: event.End.Exited, Status: event.End.Status}
		if !event.End.OK() {
			end.Error = &end.Status
		}
		return &pb.ProcessEvent{Event: &pb.ProcessEvent_End{End: end}}
	}
	data := &pb.ProcessEvent_DataEvent{}
	switch event.Stream {
	case process.Stdout:
		data.Output = &pb.ProcessEvent_DataEvent_Stdout{Stdout: event.Data}
	case process.Stderr:
		data.Output = &pb.ProcessEvent_DataEvent_Stderr{Stderr: event.Data}
	case process.Terminal:
		data.Output = &pb.ProcessEvent_DataEvent_Pty{Pty: event.Data}
	}
	return &pb.ProcessEvent{Event: &pb.ProcessEvent_Data{Data: data}}
}
