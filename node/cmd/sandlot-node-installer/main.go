// Command sandlot-node-installer puts gVisor and its shim on a node, or takes them off. The README of the module says how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"sandlot.dev/node/internal/installer"
)

const usage = "usage: sandlot-node-installer install|remove FLAGS, or rest"

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	if args[0] == "rest" {
		<-ctx.Done()
		return 0
	}
	settings, err := installer.ReadSettings(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		slog.Error(err.Error())
		return 2
	}
	switch args[0] {
	case "install":
		return install(ctx, settings)
	case "remove":
		return report(installer.Remove(ctx, settings))
	}
	fmt.Fprintln(os.Stderr, usage)
	return 2
}

func install(ctx context.Context, settings installer.Settings) int {
	outcome, err := installer.Install(ctx, settings)
	if err == nil {
		slog.Info("gVisor is installed", "version", outcome.Version, "waiting", outcome.Waiting, "changed", outcome.Changed, "restarted", outcome.Restarted)
	}
	if _, notStarted := errors.AsType[*installer.NotStartedError](err); notStarted {
		// Kubernetes would start it again, and containerd would stop again and again.
		slog.Error("delete this Pod to try again: " + err.Error())
		<-ctx.Done()
	}
	return report(err)
}

func report(err error) int {
	if err == nil {
		return 0
	}
	slog.Error(err.Error())
	return 1
}
