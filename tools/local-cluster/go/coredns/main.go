// Command coredns is CoreDNS with only the plugins the local cluster's Corefile names.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"
)

// Plugins run in this order whatever the order in the Corefile; it is upstream's order but for hosts. Tests add names to its
// file, and behind the cache a name that was asked for too early would stay unknown for 30 s.
func init() {
	dnsserver.Directives = []string{"bind", "ready", "errors", "log", "hosts", "cache", "kubernetes", "forward"}
}

func main() { coremain.Run() }
