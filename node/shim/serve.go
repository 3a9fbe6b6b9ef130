package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/sys"
)

// oomScore makes the kernel kill the shim last when memory is short.
const oomScore = -999

// serve starts a process that serves the container until it is deleted, and returns the address of its socket. The working
// folder is the container's bundle; containerd finds the process again through the files written there.
func serve(ctx context.Context, id string, opts shim.StartOpts) (string, error) {
	address, err := shim.SocketAddress(ctx, opts.Address, id, opts.Debug)
	if err != nil {
		return "", err
	}
	listener, err := listen(address)
	if err != nil {
		return "", err
	}
	process, err := spawn(ctx, id, opts, listener)
	if err != nil {
		return "", errors.Join(err, shim.RemoveSocket(address))
	}
	if err := register(process.Pid, address); err != nil {
		return "", errors.Join(err, process.Kill(), shim.RemoveSocket(address))
	}
	return address, nil
}

// listen replaces a socket that a killed shim left behind. The socket outlives the listener.
func listen(address string) (*net.UnixListener, error) {
	listener, err := shim.NewSocket(address)
	if shim.SocketEaddrinuse(err) && !shim.CanConnect(address) {
		if err := shim.RemoveSocket(address); err != nil {
			return nil, err
		}
		listener, err = shim.NewSocket(address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	listener.SetUnlinkOnClose(false)
	return listener, nil
}

func spawn(ctx context.Context, id string, opts shim.StartOpts, listener *net.UnixListener) (*os.Process, error) {
	namespace, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	socket, err := listener.File()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self, "-namespace", namespace, "-address", opts.Address, "-id", id)
	if opts.Debug {
		command.Args = append(command.Args, "-debug")
	}
	command.ExtraFiles = []*os.File{socket}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return command.Process, nil
}

func register(pid int, address string) error {
	if err := shim.WritePidFile("shim.pid", pid); err != nil {
		return err
	}
	if err := os.WriteFile("address", []byte(address), 0o644); err != nil {
		return err
	}
	// Without CAP_SYS_RESOURCE a score cannot be lowered; the shim then shares containerd's.
	if err := sys.SetOOMScore(pid, oomScore); err != nil && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("set the OOM score of the shim: %w", err)
	}
	return nil
}
