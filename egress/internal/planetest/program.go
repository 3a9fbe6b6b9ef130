package planetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"sandlot.dev/egress/internal/serve"
)

// programVariable names a built sandlot-egress, which then runs as a process of its own: a benchmark measures its processor time.
const programVariable = "SANDLOT_EGRESS"

func (p *Plane) runProgram(program string, settings serve.Settings) {
	child := exec.Command(program, formatArgs(settings)...)
	child.Stderr = p.Log
	child.Env = []string{}
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.PID = child.Process.Pid
	p.Stop = sync.OnceFunc(func() {
		_ = child.Process.Signal(os.Kill)
		_ = child.Wait()
	})
	p.t.Cleanup(p.Stop)
}

func formatArgs(s serve.Settings) []string {
	flags := map[string]any{
		"bind": s.Bind, "dns-port": s.DNSPort, "proxy-port": s.ProxyPort, "admin-port": s.AdminPort, "daemon-port": s.DaemonPort,
		"socket": s.Socket, "servers": strings.Join(s.Servers, ","),
		"ca": s.CA, "upstream-ca": s.Roots, "tls-ports": s.Front.TLSPorts[0], "http-ports": s.Front.HTTPPorts[0],
		"identity-by-address": s.Front.ByAddress, "connections": s.Limits.Open, "connections-per-second": s.Limits.PerSecond,
		"dns-per-second": s.DNSPerSec, "log-mode": s.Log, "idle": s.Front.Idle,
	}
	args := make([]string, 0, len(flags))
	for name, value := range flags {
		args = append(args, fmt.Sprintf("-%s=%v", name, value))
	}
	return args
}
