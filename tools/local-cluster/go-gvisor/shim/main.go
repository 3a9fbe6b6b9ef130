// Command shim is gVisor's shim for containerd with a start of its own: gVisor's answers in a way that containerd
// understands only from 1.7 on, and fails where the machine withholds CAP_SYS_RESOURCE.
package main

import (
	"context"
	"fmt"
	"os"

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

// Start implements shim.Manager. On success it does not return: the caller would print JSON, which containerd 1.6 takes
// for an address. Every later version accepts a plain address, too.
func (manager) Start(ctx context.Context, id string, opts shim.StartOpts) (shim.BootstrapParams, error) {
	address, err := serve(ctx, id, opts)
	if err == nil {
		_, err = fmt.Print(address)
	}
	if err != nil {
		return shim.BootstrapParams{}, err
	}
	os.Exit(0)
	return shim.BootstrapParams{}, nil
}
