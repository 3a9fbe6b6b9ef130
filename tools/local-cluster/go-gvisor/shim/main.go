// Command shim is gVisor's shim for containerd with a start of its own: gVisor's fails where the machine withholds
// CAP_SYS_RESOURCE.
package main

import (
	"context"

	"github.com/containerd/containerd/v2/pkg/shim"
	gvisor "gvisor.dev/gvisor/pkg/shim/v1"
	_ "gvisor.dev/gvisor/pkg/shim/v1/plugin"
)

const runtimeName = "io.containerd.runsc.v1"

func main() {
	shim.Run(context.Background(), manager{gvisor.NewShimManager(runtimeName)})
}

// manager is gVisor's except for Start.
type manager struct {
	shim.Manager
}

// Start implements shim.Manager.
func (manager) Start(ctx context.Context, id string, opts shim.StartOpts) (shim.BootstrapParams, error) {
	address, err := serve(ctx, id, opts)
	if err != nil {
		return shim.BootstrapParams{}, err
	}
	return shim.BootstrapParams{Version: 2, Address: address, Protocol: "ttrpc"}, nil
}
