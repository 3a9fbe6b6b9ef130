// Command sandlot-volumes serves the files of the volumes of one namespace to the API.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"sandlot.dev/volumes/internal/serve"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	settings, err := serve.ReadSettings(os.Getenv)
	if err != nil {
		log.Error("a setting cannot be used", "error", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve.Run(ctx, settings, log); err != nil {
		log.Error("the file server ended", "error", err)
		os.Exit(1)
	}
}
