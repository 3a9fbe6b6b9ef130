package e2e

import (
	"strconv"
	"testing"
	"time"
)

// onSandboxdPorts names the ports of sandboxd at the address of a sandbox.
func (g *gvisor) onSandboxdPorts() *gvisor {
	g.filesURL, g.processesURL = "http://"+g.address+":8080", "http://"+g.address+":9090"
	return g
}

func TestAForkServesSandboxdOnlyAfterItsOwnInit(t *testing.T) {
	ours, _ := install(t)
	i := newImage(t)
	g := newSandbox(t, i, newPod(t, "source", append(ours.podEnv(sandboxUID, "1"), sandboxdVariable+"8080,9090", "SANDBOX_BASE_DIR=/state")...), command).onSandboxdPorts()
	g.boot()
	g.expectSandboxd("before /init", notYet)
	expect(t, "init", strconv.Itoa(g.init(ours.sign(sandboxUID, time.Now().UnixMilli(), secrets), secrets).status), "204")
	g.expectSandboxd("after /init", "")
	snapshot := g.save()
	fork := newSandbox(t, i, newPod(t, "fork", ours.podEnv(forkUID, "2")...), command).onSandboxdPorts()
	fork.restore(snapshot)
	fork.awaitHealth()
	fork.expectSandboxd("the fork before its /init", notYet)
	expect(t, "init of the fork", strconv.Itoa(fork.init(ours.sign(forkUID, time.Now().UnixMilli(), secrets), secrets).status), "204")
	fork.expectSandboxd("the fork after its /init", "")
	g.expectSandboxd("the source", "")
}
