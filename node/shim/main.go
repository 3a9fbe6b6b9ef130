// Command shim is gVisor's shim for containerd, with what hibernation needs, and with a start of its own: gVisor's fails where
// the machine withholds CAP_SYS_RESOURCE. It is installed under the name containerd-shim-runsc-v1.
package main

import (
	"cmp"
	"context"
	"os"

	"github.com/containerd/containerd/v2/pkg/shim"
	gvisor "gvisor.dev/gvisor/pkg/shim/v1"
	_ "gvisor.dev/gvisor/pkg/shim/v1/plugin"

	"sandlot.dev/node/shim/internal/agent"
	"sandlot.dev/node/shim/internal/pod"
)

const runtimeName = "io.containerd.runsc.v1"

// socketVariable names the socket of the node agent, in containerd's environment, where it is not at agent.DefaultSocket.
const socketVariable = "SANDLOT_NODE_SOCKET"

func main() {
	socket := cmp.Or(os.Getenv(socketVariable), agent.DefaultSocket)
	pod.Extend(agent.NewClient(socket, agent.DefaultLimits))
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
