// Command sandlot-egress is the data plane of egress by name: the resolver of sandboxes, and the proxy to which it leads them.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"sandlot.dev/egress/internal/serve"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	settings, err := serve.ReadSettings(os.Args[1:], os.Getenv)
	if err != nil {
		log.Error("a setting cannot be used", "error", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve.Run(ctx, settings, log); err != nil {
		log.Error("the data plane ended", "error", err)
		os.Exit(1)
	}
}
