// Package serve puts the parts together and runs them.
package serve

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sandlot.dev/builder/internal/api"
	"sandlot.dev/builder/internal/guard"
	"sandlot.dev/builder/internal/images"
)

// variablePrefix begins the name of the environment variable of each flag: -docker-config is SANDLOT_IMAGE_DOCKER_CONFIG.
const variablePrefix = "SANDLOT_IMAGE_"

// Settings are what the chart sets.
type Settings struct {
	// Socket is where the control of builds connects, and Admin the address of metrics and probes.
	Socket, Admin string
	// Registry is HOST[:PORT][/PREFIX] of the operator's registry.
	Registry string
	// DockerConfig is a file with credentials, and CA one with authorities beside those of the system.
	DockerConfig, CA string
	Policy           guard.Policy
	Platform         v1.Platform
	Images           images.Limits
	API              api.Limits
	// Idle ends a connection to a registry over which nothing passes.
	Idle time.Duration
	// Drain is how long operations may go on after the end was asked for.
	Drain time.Duration
}

// ReadSettings reads flags, and environment variables where a flag is not given. The error names the flag.
func ReadSettings(args []string, getenv func(string) string) (Settings, error) {
	s := Settings{Platform: v1.Platform{OS: "linux"}}
	flags := flag.NewFlagSet("sandlot-image", flag.ContinueOnError)
	flags.StringVar(&s.Socket, "socket", "/run/sandlot/image.sock", "Unix socket for the control of builds")
	flags.StringVar(&s.Admin, "admin", ":9464", "address of metrics and probes")
	flags.StringVar(&s.Registry, "registry", "", "the operator's registry, HOST[:PORT][/PREFIX]")
	flags.StringVar(&s.DockerConfig, "docker-config", "", "file with credentials of registries, a Docker config JSON; it is read anew when it is needed")
	flags.StringVar(&s.CA, "ca", "", "file with authorities of registries, beside those of the system")
	flags.Func("tenant-registries", "patterns of the registries that tenants may name, separated by commas", patterns(&s.Policy.Registries))
	flags.Func("plain-http", "patterns of the registries that are reached without TLS, separated by commas", patterns(&s.Policy.Plain))
	flags.Func("private-addresses", "blocks of private addresses that registries of tenants may have, separated by commas", blocks(&s.Policy.Private))
	flags.StringVar(&s.Platform.Architecture, "architecture", runtime.GOARCH, "architecture of the nodes")
	flags.Int64Var(&s.Images.LayerBytes, "layer-bytes", 10<<30, "the most bytes of a layer, before it is compressed")
	flags.Int64Var(&s.Images.FileBytes, "file-bytes", 2<<30, "the most bytes of an archive of build files")
	flags.Int64Var(&s.Images.ImageBytes, "image-bytes", 20<<30, "the most bytes of all layers of an image in a registry")
	flags.IntVar(&s.API.Operations, "operations", 8, "operations that run at a time")
	flags.DurationVar(&s.API.Short, "short-timeout", time.Minute, "time for questions and tags")
	flags.DurationVar(&s.API.Long, "long-timeout", time.Hour, "time for a layer, an archive and an image")
	flags.DurationVar(&s.Idle, "idle", 2*time.Minute, "end connections to registries over which nothing came for so long")
	flags.DurationVar(&s.Drain, "drain", time.Minute, "how long operations may go on after the end was asked for")
	if err := readAll(flags, args, getenv); err != nil {
		return s, err
	}
	return s, s.check()
}

func readAll(flags *flag.FlagSet, args []string, getenv func(string) string) error {
	var failed error
	flags.VisitAll(func(each *flag.Flag) {
		name := variablePrefix + strings.ToUpper(strings.ReplaceAll(each.Name, "-", "_"))
		if value := getenv(name); value != "" && failed == nil {
			if err := each.Value.Set(value); err != nil {
				failed = fmt.Errorf("%s: %w", name, err)
			}
		}
	})
	if failed != nil {
		return failed
	}
	return flags.Parse(args)
}

func (s Settings) check() error {
	host, _ := s.registry()
	if _, err := name.NewRegistry(host); err != nil || host == "" {
		return errors.New("-registry: HOST[:PORT][/PREFIX] is needed")
	}
	if s.API.Operations < 1 || min(s.Images.LayerBytes, s.Images.FileBytes, s.Images.ImageBytes) < 1 {
		return errors.New("limits are above 0")
	}
	return nil
}

// registry returns the host and the prefix.
func (s Settings) registry() (string, string) {
	host, prefix, _ := strings.Cut(s.Registry, "/")
	if host == "docker.io" {
		host = name.DefaultRegistry
	}
	return host, strings.Trim(prefix, "/")
}

func patterns(into *[]string) func(string) error {
	return func(text string) error {
		*into = strings.Split(text, ",")
		for _, each := range *into {
			if err := guard.CheckPattern(each); err != nil {
				return err
			}
		}
		return nil
	}
}

func blocks(into *[]netip.Prefix) func(string) error {
	return func(text string) error {
		*into = nil
		for each := range strings.SplitSeq(text, ",") {
			block, err := netip.ParsePrefix(each)
			if err != nil {
				return fmt.Errorf("%q is no block of addresses", each)
			}
			*into = append(*into, block.Masked())
		}
		return nil
	}
}
