package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	pb "sandlot.dev/runtime/internal/gen/sandboxd"
)

func TestExecuteOfSandboxdRunsACommandWithItsEnvironmentAndDirectory(t *testing.T) {
	d, base := sandboxdDaemon(t)
	_ = os.Mkdir(base+"/dir", 0o755)
	_ = os.Symlink("/", base+"/out")
	at := func(cwd string) *pb.ProcessConfig {
		config := sh("pwd")
		config.Cwd = &cwd
		return config
	}
	with := func(env map[string]string) *pb.ProcessConfig {
		config := sh(`echo "$COLOUR-$DAEMON_SECRET"`)
		config.EnvVars = env
		return config
	}
	const outside = "permission_denied: 'config.cwd' is outside of the base directory"
	for name, row := range map[string]struct {
		config *pb.ProcessConfig
		want   string
	}{
		"output and exit code":        {sh("echo out; echo err >&2; exit 3"), `3 "out\n" "err\n"`},
		"bytes that are not UTF-8":    {sh(`printf 'a\377'`), `0 "a\xff" ""`},
		"no input":                    {sh("cat; echo done"), `0 "done\n" ""`},
		"the end by a signal":         {sh("kill -9 $$"), `-1 "" ""`},
		"the base directory":          {sh("pwd"), fmt.Sprintf("0 %q \"\"", base+"\n")},
		"a directory below":           {at("dir"), fmt.Sprintf("0 %q \"\"", base+"/dir\n")},
		"an absolute one below":       {at(base + "/dir"), fmt.Sprintf("0 %q \"\"", base+"/dir\n")},
		"a directory above":           {at("../"), outside},
		"one behind a link":           {at("out"), outside},
		"one with a NUL":              {at("\x00"), outside},
		"one that does not exist":     {at("none"), "invalid_argument: cwd '" + base + "/none' does not exist"},
		"variables":                   {with(map[string]string{"COLOUR": "blue"}), `0 "blue-\n" ""`},
		"a variable without a name":   {with(map[string]string{"": "x"}), `invalid_argument: environment variable "": the name may not be empty or contain '=', neither may contain NUL`},
		"a variable with a sign":      {with(map[string]string{"A=B": "x"}), `invalid_argument: environment variable "A=B": the name may not be empty or contain '=', neither may contain NUL`},
		"no command":                  {&pb.ProcessConfig{}, "invalid_argument: 'config.command' must name a program"},
		"no configuration":            {nil, "invalid_argument: 'config.command' must name a program"},
		"a program that is not there": {&pb.ProcessConfig{Command: []string{"no-such"}}, "invalid_argument: cannot start 'no-such': executable file not found in $PATH"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, "outcome", d.grpcExecute(row.config), row.want) })
	}
}

func TestExecuteOfSandboxdBoundsMessagesAndOutput(t *testing.T) {
	d, _ := sandboxdDaemon(t)
	ctx := context.Background()
	got, failure := grpcCall[pb.ExecuteRequest, pb.ExecuteResponse](ctx, d, "Execute", &pb.ExecuteRequest{Config: sh("head -c 20000000 /dev/zero")})
	kept := 16 << 20
	expect(t, "end of the output", failure+string(got.GetStdout()[kept:]), fmt.Sprintf("\n[%d more bytes were dropped]\n", 20_000_000-kept))
	huge := sh("true")
	huge.EnvVars = map[string]string{"HUGE": strings.Repeat("x", 33<<20)}
	_, failure = grpcCall[pb.ExecuteRequest, pb.ExecuteResponse](ctx, d, "Execute", &pb.ExecuteRequest{Config: huge})
	expect(t, "a huge message", strings.SplitN(failure, ":", 2)[0], "resource_exhausted")
	_, failure = grpcCall[pb.ExecuteRequest, pb.ExecuteResponse](ctx, d, "Execute", &pb.ExecuteRequest{Config: huge}, connect.WithSendGzip())
	expect(t, "a compressed one", strings.SplitN(failure, ":", 2)[0], "unimplemented")
	expect(t, "the daemon afterwards", d.grpcExecute(sh("true")), `0 "" ""`)
}

// isAlive reports whether a process runs whose id a command wrote into a file.
func isAlive(file string) bool {
	pid, _ := os.ReadFile(file)
	if len(pid) == 0 {
		return false
	}
	_, err := os.Stat("/proc/" + strings.TrimSpace(string(pid)))
	return err == nil
}

func TestACommandOfSandboxdEndsWithItsClientAndItsDeadline(t *testing.T) {
	d, base := sandboxdDaemon(t)
	const script = `echo $$ > pid; exec sleep 1000`
	for name, begin := range map[string]func(context.Context) (wait func()){
		"Execute": func(ctx context.Context) func() {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = grpcCall[pb.ExecuteRequest, pb.ExecuteResponse](ctx, d, "Execute", &pb.ExecuteRequest{Config: sh(script)})
			}()
			return func() { <-ended }
		},
		"Start": func(ctx context.Context) func() {
			// The client must have the beginning of the stream before the test cancels it.
			running := d.grpcStart(ctx, &pb.StartRequest{Config: sh(script)})
			return func() { running.end() }
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		wait := begin(ctx)
		eventually(t, name+" runs", func() bool { return isAlive(base + "/pid") })
		cancel()
		wait()
		eventually(t, name+" has ended with its client", func() bool { return !isAlive(base + "/pid") })
		_ = os.Remove(base + "/pid")
	}
	request := header{"Content-Type": "application/json", "Connect-Timeout-Ms": "300"}
	late := d.send(d.processesURL, "POST", "/process.v1.ProcessService/Execute", request, strings.NewReader(`{"config":{"command":["sh","-c","`+script+`"]}}`))
	expect(t, "status after the deadline", strconv.Itoa(late.status), "504")
	eventually(t, "the command has ended with its deadline", func() bool { return !isAlive(base + "/pid") })
}

// started is a stream of Start.
type started struct {
	t      *testing.T
	stream *connect.ServerStreamForClient[pb.StartResponse]
	pid    int32
}

func (d *daemon) grpcStart(ctx context.Context, message *pb.StartRequest) *started {
	d.t.Helper()
	client := connect.NewClient[pb.StartRequest, pb.StartResponse](overHTTP2, d.processesURL+"/process.v1.ProcessService/Start", connect.WithGRPC())
	stream, err := client.CallServerStream(ctx, connect.NewRequest(message))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = stream.Close() })
	if !stream.Receive() || stream.Msg().GetInit() == nil {
		d.t.Fatalf("the stream begins with %v, %v", stream.Msg(), stream.Err())
	}
	return &started{d.t, stream, stream.Msg().GetInit().GetProcessId()}
}

// until reads until the output has a text; output is marked with `!` on stderr.
func (s *started) until(text string) {
	s.t.Helper()
	var said strings.Builder
	for !strings.Contains(said.String(), text) {
		if !s.stream.Receive() {
			s.t.Fatalf("the stream ended with %v after %q", s.stream.Err(), said.String())
		}
		said.Write(s.stream.Msg().GetStdout())
		if text := s.stream.Msg().GetStderr(); text != nil {
			fmt.Fprintf(&said, "!%s", text)
		}
	}
}

// end reads the rest, and returns the output and how the process ended.
func (s *started) end() string {
	var said strings.Builder
	for s.stream.Receive() {
		said.Write(s.stream.Msg().GetStdout())
		if exit := s.stream.Msg().GetExit(); exit != nil {
			return fmt.Sprintf("%q exit %d", said.String(), exit.GetExitCode())
		}
	}
	return fmt.Sprintf("%q %v", said.String(), s.stream.Err())
}

// say calls a method on the process and returns the error.
func say[Req, Res any](d *daemon, method string, message *Req) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, failure := grpcCall[Req, Res](ctx, d, method, message)
	return failure
}

func (d *daemon) input(pid int32, text string) string {
	d.t.Helper()
	return say[pb.WriteStdinRequest, pb.WriteStdinResponse](d, "WriteStdin", &pb.WriteStdinRequest{ProcessId: pid, Payload: &pb.WriteStdinRequest_Input{Input: []byte(text)}})
}

func (d *daemon) eof(pid int32) string {
	d.t.Helper()
	return say[pb.WriteStdinRequest, pb.WriteStdinResponse](d, "WriteStdin", &pb.WriteStdinRequest{ProcessId: pid, Payload: &pb.WriteStdinRequest_Eof{}})
}

func (d *daemon) signal(pid int32, signal pb.Signal) string {
	d.t.Helper()
	return say[pb.SendSignalRequest, pb.SendSignalResponse](d, "SendSignal", &pb.SendSignalRequest{ProcessId: pid, Signal: signal})
}

func (d *daemon) resize(pid int32, cols, rows uint32) string {
	d.t.Helper()
	return say[pb.ResizeTTYRequest, pb.ResizeTTYResponse](d, "ResizeTTY", &pb.ResizeTTYRequest{ProcessId: pid, Cols: cols, Rows: rows})
}

func TestAProcessOfSandboxdStreamsItsOutputAndTakesInput(t *testing.T) {
	d, _ := sandboxdDaemon(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running := d.grpcStart(ctx, &pb.StartRequest{Config: sh(`echo err >&2; while read line; do echo "got $line"; done; exit 5`)})
	running.until("!err")
	expect(t, "input", d.input(running.pid, "one\n"), "")
	running.until("got one")
	expect(t, "no payload", say[pb.WriteStdinRequest, pb.WriteStdinResponse](d, "WriteStdin", &pb.WriteStdinRequest{ProcessId: running.pid}), "invalid_argument: the payload must be 'input' or 'eof'")
	expect(t, "a size", d.resize(running.pid, 1, 1), "failed_precondition: the process has no terminal")
	expect(t, "the end of the input", d.eof(running.pid), "")
	expect(t, "the end", running.end(), `"" exit 5`)
	gone := fmt.Sprintf("not_found: no process with 'process_id' %d runs", running.pid)
	expect(t, "input afterwards", d.input(running.pid, "x"), gone)
	expect(t, "a signal afterwards", d.signal(running.pid, pb.Signal_SIGNAL_SIGKILL), gone)
	expect(t, "a size afterwards", d.resize(running.pid, 1, 1), gone)
	expect(t, "a process that the daemon did not start", d.signal(1, pb.Signal_SIGNAL_SIGKILL), "not_found: no process with 'process_id' 1 runs")
	expect(t, "every process", d.signal(-1, pb.Signal_SIGNAL_SIGKILL), "not_found: no process with 'process_id' -1 runs")
}

func TestAProcessOfSandboxdRunsInATerminal(t *testing.T) {
	d, _ := sandboxdDaemon(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running := d.grpcStart(ctx, &pb.StartRequest{Config: sh(`stty -echo; stty size; while read line; do stty size; done; exit 6`), Pty: &pb.PTY{Cols: 80, Rows: 24}})
	running.until("24 80")
	expect(t, "too wide", d.resize(running.pid, 1<<16, 1), "invalid_argument: a terminal has at most 65535 columns and rows")
	expect(t, "a new size", d.resize(running.pid, 132, 50), "")
	expect(t, "input", d.input(running.pid, "\n"), "")
	running.until("50 132")
	expect(t, "the end of the input", d.eof(running.pid), "")
	if end := running.end(); !strings.HasSuffix(end, " exit 6") {
		t.Errorf("it ended with %s", end)
	}
}

func TestSignalsReachAProcessOfSandboxd(t *testing.T) {
	d, _ := sandboxdDaemon(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	start := func() *started {
		running := d.grpcStart(ctx, &pb.StartRequest{Config: sh(`trap 'echo interrupted' INT; trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done`)})
		running.until("ready")
		return running
	}
	running := start()
	expect(t, "no signal", d.signal(running.pid, pb.Signal_SIGNAL_UNSPECIFIED), "invalid_argument: 'signal' must be SIGNAL_SIGINT, SIGNAL_SIGTERM or SIGNAL_SIGKILL")
	expect(t, "another signal", d.signal(running.pid, 19), "invalid_argument: 'signal' must be SIGNAL_SIGINT, SIGNAL_SIGTERM or SIGNAL_SIGKILL")
	expect(t, "SIGINT", d.signal(running.pid, pb.Signal_SIGNAL_SIGINT), "")
	running.until("interrupted")
	expect(t, "SIGTERM", d.signal(running.pid, pb.Signal_SIGNAL_SIGTERM), "")
	expect(t, "the end", running.end(), `"" exit 7`)
	running = start()
	expect(t, "SIGKILL", d.signal(running.pid, pb.Signal_SIGNAL_SIGKILL), "")
	expect(t, "the end", running.end(), `"" exit -1`)
}

func TestHostileHeadersDoNotStopTheProcessesOfSandboxd(t *testing.T) {
	d, _ := sandboxdDaemon(t)
	const path = "/process.v1.ProcessService/Execute"
	body := func() *strings.Reader { return strings.NewReader(`{"config":{"command":["true"]}}`) }
	for name, row := range map[string]struct {
		h    header
		want int
	}{
		"another type":         {header{"Content-Type": "text/plain"}, 415},
		"a timeout of nothing": {header{"Content-Type": "application/json", "Connect-Timeout-Ms": "x"}, 400},
		"an unknown encoding":  {header{"Content-Type": "application/json", "Content-Encoding": "gzip"}, 501},
		"a huge head":          {header{"Content-Type": "application/json", "X-Huge": strings.Repeat("x", 80<<10)}, 431},
	} {
		expect(t, name, strconv.Itoa(d.send(d.processesURL, "POST", path, row.h, body()).status), strconv.Itoa(row.want))
	}
	expect(t, "another service", strconv.Itoa(d.send(d.processesURL, "POST", "/process.Process/List", header{"Content-Type": "application/json"}, strings.NewReader("{}")).status), "404")
	expect(t, "the daemon afterwards", d.grpcExecute(sh("true")), `0 "" ""`)
}
