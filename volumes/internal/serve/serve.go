// Package serve puts the parts together and runs them.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
	"sandlot.dev/volumes/internal/api"
	"sandlot.dev/volumes/internal/hop"
	"sandlot.dev/volumes/internal/store"
)

const (
	headerLimit = 5 * time.Second
	// drain is less than the kubelet grants.
	drain = 20 * time.Second
	// mostHeader is more than a path of 4,096 bytes needs in which every byte is escaped.
	mostHeader = 32 << 10
)

// Settings are what the volume-controller sets.
type Settings struct {
	// Address is where the API connects, and Data the directory of the volumes.
	Address, Data string
	// Namespace is the one whose volumes these are, and Keys the public keys of the release.
	Namespace, Keys string
}

// ReadSettings reads environment variables. The error names the one that is missing.
func ReadSettings(getenv func(string) string) (Settings, error) {
	settings := Settings{
		Address: getenv("VOLUMES_ADDRESS"), Data: getenv("VOLUMES_DATA"),
		Namespace: getenv("VOLUMES_NAMESPACE"), Keys: getenv("VOLUMES_KEYS"),
	}
	for name, value := range map[string]string{
		"VOLUMES_ADDRESS": settings.Address, "VOLUMES_DATA": settings.Data,
		"VOLUMES_NAMESPACE": settings.Namespace, "VOLUMES_KEYS": settings.Keys,
	} {
		if value == "" {
			return settings, fmt.Errorf("%s is not set", name)
		}
	}
	return settings, nil
}

// Run serves until the context ends, and then lets operations complete.
func Run(ctx context.Context, settings Settings, log *slog.Logger) error {
	verifier, err := hop.NewVerifier(settings.Keys, settings.Namespace, time.Now)
	if err != nil {
		return fmt.Errorf("VOLUMES_KEYS: %w", err)
	}
	// Modes are what clients ask for.
	unix.Umask(0)
	volumes, err := store.Open(settings.Data)
	if err != nil {
		return err
	}
	defer volumes.Close()
	listener, err := net.Listen("tcp", settings.Address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/volumes/", api.New(volumes, verifier, log).Handler())
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerLimit, MaxHeaderBytes: mostHeader}
	log.Info("the file server listens", "address", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err = server.Shutdown(limit); err != nil {
		err = errors.Join(err, server.Close())
	}
	return err
}
