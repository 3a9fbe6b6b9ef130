package lifecycle

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/trust"
)

// trustAuthorities makes programs trust the authority of the egress proxy and those that /init named.
func trustAuthorities(store *trust.Store, egressCA, bundle string) error {
	authority, err := trust.Certificates(egressCA)
	if err != nil {
		return fmt.Errorf("%s: %w", config.EgressCAVariable, err)
	}
	return store.Apply(authority + bundle)
}

// logUntrusted is for what must not stop a daemon: programs then refuse the hosts that the egress proxy inspects, and no others.
func logUntrusted(err error) {
	slog.Error("programs may not trust the egress proxy", "error", err)
}

// trustBeforeCommand makes programs trust the authority before the command of the container starts, and returns the
// environment of the command.
func trustBeforeCommand() []string {
	store := trust.Open(config.Dir(os.Getenv))
	if err := trustAuthorities(store, os.Getenv(config.EgressCAVariable), ""); err != nil {
		logUntrusted(err)
	}
	return withTrusted(os.Environ(), store.Variables())
}

// withTrusted adds the variables that an environment does not set.
func withTrusted(environment []string, variables map[string]string) []string {
	all := slices.Clone(environment)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		isSet := func(each string) bool { return strings.HasPrefix(each, name+"=") }
		if !slices.ContainsFunc(environment, isSet) {
			all = append(all, name+"="+variables[name])
		}
	}
	return all
}
