// Command sandlot-image is the image plane of template builds: it pulls bases, pushes layers and puts images together.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"sandlot.dev/builder/internal/serve"
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
		log.Error("the image plane ended", "error", err)
		os.Exit(1)
	}
}
