// Command network-policy enforces the cluster's NetworkPolicies on this machine with nftables.
//
//	network-policy serve KUBECONFIG SOCKET POD_CIDR BRIDGE DNS_ADDRESS:PORT
//	network-policy ready SOCKET
//
// As a CNI plugin it announces a pod's address to the server and returns when the pod's rules are in place, before the
// pod's containers start.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const announceTimeout = 20 * time.Second

// announcement is the plugin's request to the server.
type announcement struct{ Namespace, Name, UID, IP string }

func main() {
	var err error
	switch {
	case os.Getenv("CNI_COMMAND") != "":
		err = runPlugin()
	case len(os.Args) == 7 && os.Args[1] == "serve":
		err = serve(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) == 3 && os.Args[1] == "ready":
		err = call(os.Args[2], "ready", nil)
	default:
		err = errors.New("usage: network-policy serve KUBECONFIG SOCKET POD_CIDR BRIDGE DNS_ADDRESS:PORT | ready SOCKET")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve(kubeconfig, socket string, network []string) error {
	dns, err := netip.ParseAddrPort(network[2])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	e := newEnforcer()
	base := snapshot{podCIDR: network[0], bridge: network[1], standIns: []standIn{newDNSStandIn(dns)}}
	c, err := watchCluster(ctx, kubeconfig, base, e.enqueue)
	if err != nil {
		return err
	}
	e.observe = c.takeSnapshot
	go e.run(ctx)
	if err := e.waitUntilApplied(ctx); err != nil {
		return err
	}
	return listen(ctx, socket, c, e)
}

func newDNSStandIn(address netip.AddrPort) standIn {
	return standIn{
		pod:      pod{namespace: "kube-system", name: "coredns", ip: address.Addr().String(), labels: labelSet{"k8s-app": "kube-dns"}},
		port:     53,
		hostPort: int32(address.Port()),
	}
}

func listen(ctx context.Context, socket string, c *cluster, e *enforcer) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /ready", func(http.ResponseWriter, *http.Request) {})
	routes.HandleFunc("POST /announce", func(w http.ResponseWriter, r *http.Request) {
		var a announcement
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		within, cancel := context.WithTimeout(r.Context(), announceTimeout)
		defer cancel()
		if err := errors.Join(c.announce(within, a), e.waitUntilApplied(within)); err != nil {
			http.Error(w, fmt.Sprintf("pod %s/%s: %v", a.Namespace, a.Name, err), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: routes, ReadHeaderTimeout: announceTimeout}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
