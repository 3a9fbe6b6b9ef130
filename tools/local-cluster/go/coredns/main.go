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

// Plugins run in this order whatever the order in the Corefile; it is upstream's order for these plugins.
func init() {
	dnsserver.Directives = []string{"bind", "ready", "errors", "log", "cache", "hosts", "kubernetes", "forward"}
}

func main() { coremain.Run() }
