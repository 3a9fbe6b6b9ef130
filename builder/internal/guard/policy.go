// Package guard keeps connections to registries within what the operator allows.
package guard

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	"sandlot.dev/builder/internal/refuse"
	"sandlot.dev/egress/addresses"
)

// Policy says which registries tenants may name, and which addresses are dialled for them.
type Policy struct {
	// Registries are patterns of HOST or HOST:PORT; * stands for any characters.
	Registries []string
	// Plain are patterns of registries that are reached without TLS.
	Plain []string
	// Private are the blocks of addresses, other than those of the internet, that tenants may reach.
	Private []netip.Prefix
}

// CheckPattern refuses what is no pattern.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.Contains(pattern, "/") {
		return fmt.Errorf("%q is no pattern of a registry, HOST or HOST:PORT with *", pattern)
	}
	return nil
}

// AllowsRegistry says whether tenants may name the registry.
func (p Policy) AllowsRegistry(host string) bool { return matches(p.Registries, host) }

// IsPlain says whether the registry is reached without TLS.
func (p Policy) IsPlain(host string) bool { return matches(p.Plain, host) }

func matches(patterns []string, host string) bool {
	// Docker Hub has two names. References have the second.
	hosts := []string{host}
	if host == name.DefaultRegistry {
		hosts = append(hosts, "docker.io")
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(hosts, func(host string) bool {
			found, err := path.Match(pattern, host)
			return found && err == nil
		})
	})
}

// AllowsAddress says whether the address is dialled for a tenant.
func (p Policy) AllowsAddress(address netip.Addr) bool {
	if addresses.IsPublic(address) {
		return true
	}
	for _, each := range addresses.Reveal(address) {
		if !addresses.IsPublic(each) && !slices.ContainsFunc(p.Private, func(block netip.Prefix) bool { return block.Contains(each) }) {
			return false
		}
	}
	return true
}

// control checks the address at every dial, after names were resolved.
func (p Policy) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !p.AllowsAddress(target.Addr()) {
		return refuse.ErrForbidden
	}
	return nil
}

// Canonical returns one text for all ways to write the host of a registry: lower case, without the dot of the root, and without a port
// that a scheme has anyway.
func Canonical(host string) string {
	host = strings.ToLower(host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return strings.TrimSuffix(host, ".")
	}
	if name = strings.TrimSuffix(name, "."); port == "443" || port == "80" {
		return name
	}
	return net.JoinHostPort(name, port)
}
