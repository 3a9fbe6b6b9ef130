package lifecycle

import (
	"cmp"
	"log/slog"
	"os"
	"strconv"
	"time"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/reaper"
	"sandlot.dev/runtime/internal/records"
	"sandlot.dev/runtime/internal/restore"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/startup"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/trust"
	"sandlot.dev/runtime/internal/users"
)

// probeTime is how long Ready waits. A probe of the kubelet gives it longer, so that its text is shown and not that of the kubelet.
const probeTime = 20 * time.Second

// beginStartup runs the commands of the template beside the daemon, and returns what ends their processes.
func beginStartup(r *reaper.Reaper, commands startup.Commands) (end func()) {
	if commands.AreNone() {
		return func() {}
	}
	table := process.NewTable(r, 0)
	runner := &startup.Runner{
		Table: table,
		Session: session.New(users.Machine(), state.Open(nil, state.Owner{}), session.Defaults{
			User: os.Getenv("SANDLOT_DEFAULT_USER"), Workdir: os.Getenv("SANDLOT_WORKDIR"),
			Trusted: trust.Open(config.Dir(os.Getenv)).Variables, Marked: os.Getenv("SANDLOT_RUNTIME_PUBLIC_KEY") != "",
		}),
		Commands: commands,
		// A sandbox that is restored into another Pod has another UID there, and the start command goes on in it.
		Witness: records.Marker{Out: os.Stdout, Err: os.Stderr, UID: uidNow(restore.Open())}.Start,
	}
	if err := runner.Begin(startupAddress()); err != nil {
		slog.Error("the start command cannot start", "error", err)
	}
	return table.KillAll
}

// Ready waits a while until the sandbox is ready, for a startup probe, which has the environment of the container. Without commands there
// is nothing to wait for, as where a template names a ConfigMap that lacks them. The error says why it is not ready.
func Ready() error {
	if startup.TakeCommands().AreNone() {
		return nil
	}
	return startup.Await(startupAddress(), probeTime)
}

func uidNow(detector *restore.Detector) func() string {
	return func() string { return detector.Getenv("SANDLOT_SANDBOX_UID") }
}

func startupAddress() string {
	return startup.Address(cmp.Or(os.Getenv("SANDLOT_ENVD_PORT"), strconv.Itoa(config.DefaultPort)))
}
