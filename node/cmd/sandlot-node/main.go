// Command sandlot-node is the agent of a node. The README of the module says what it does.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"sandlot.dev/node/internal/agent"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	settings, err := agent.ReadSettings(args, os.LookupEnv)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		slog.Error(err.Error())
		return 2
	}
	if err := agent.Run(ctx, settings); err != nil {
		slog.Error(err.Error())
		return 1
	}
	return 0
}
