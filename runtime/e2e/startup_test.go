package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/startup"
)

// ready is what a startup probe runs. It has the environment of the container, unlike other processes.
func (c *container) ready() string {
	c.t.Helper()
	got := c.run(fmt.Sprintf("SANDLOT_READY_COMMAND=any SANDLOT_ENVD_PORT=%d %s ready; echo $?", c.port, installed))
	return got.stdout + got.stderr
}

// progress says why the sandbox is not ready; empty: it is.
func (c *container) progress() string {
	if err := startup.Await(startup.Address(strconv.Itoa(c.port)), 0); err != nil {
		return err.Error()
	}
	return ""
}

const (
	startCommand = "SANDLOT_START_COMMAND=echo started >> /tmp/log; env > /tmp/env; id -un >> /tmp/log; pwd >> /tmp/log; echo to the log; exec sleep 3600"
	readyCommand = "SANDLOT_READY_COMMAND=test -s /tmp/up"
	startLog     = "started\nother\n/home/user\n"
)

// imageForStart has files that the start command and others may write to.
func imageForStart(t *testing.T) image {
	t.Helper()
	i := imageWithAccounts(t)
	i.write("tmp/log", "", 0o666)
	i.write("tmp/env", "", 0o666)
	i.write("tmp/up", "", 0o666)
	return i
}

func TestTheStartCommandRunsOnceAndTheReadyCommandSaysWhenTheSandboxIsReady(t *testing.T) {
	env := []string{startCommand, readyCommand, "SANDLOT_DEFAULT_USER=other", "SANDLOT_WORKDIR=/home/user", "SANDLOT_RUNTIME_DIR=/.sandlot"}
	c := imageForStart(t).start(env, installed, "run", "--", "sh", "-c", "env; exec sleep 3600")
	c.awaitHealth()
	eventually(t, "the ready command was asked", func() bool { return strings.Contains(c.progress(), "it ended last with exit status 1") })
	eventually(t, "the start command has run", func() bool { return c.run("cat /tmp/log").stdout == startLog })
	c.run("echo up > /tmp/up")
	expect(t, "the probe", c.ready(), "0\n")
	for name, got := range map[string]string{
		"the command of the container": c.said.String(), "the start command": c.run("cat /tmp/env").stdout, "a process": c.run("env").stdout,
	} {
		if strings.Contains(got, "_COMMAND=") || !strings.Contains(got, "PATH=/bin\n") {
			t.Errorf("the environment of %s: %s", name, got)
		}
	}
	expectParts(t, "the log of the container", c.said.String(), "to the log\n")
	pid := c.pid()
	body := bytes.NewReader(envelope(0, shell("kill -9 "+pid)))
	if response, err := plainTransport.RoundTrip(c.newRequest(http.MethodPost, "/process.Process/Start", header{"Content-Type": "application/connect+json", "Authorization": "Basic " + b64("root:")}, body)); err == nil {
		_ = response.Body.Close()
	}
	eventually(t, "another daemon answers", func() bool { now := c.pid(); return now != "" && now != pid })
	expect(t, "the probe with another daemon", c.ready(), "0\n")
	expect(t, "the log of the start command", c.run("cat /tmp/log").stdout, startLog)
}

func TestAStartCommandThatEndsIsLoggedAndNotStartedAgain(t *testing.T) {
	c := imageForStart(t).start([]string{"SANDLOT_START_COMMAND=echo x >> /tmp/log; exit 3", "SANDLOT_READY_COMMAND=true"}, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	eventually(t, "the end was logged", func() bool { return strings.Contains(c.said.String(), `"status":"exit status 3"`) })
	expect(t, "the probe", c.ready(), "0\n")
	expect(t, "runs", c.run("cat /tmp/log").stdout, "x\n")
}

func TestASandboxThatCannotBecomeReadySaysWhy(t *testing.T) {
	c := imageForStart(t).start([]string{startCommand, readyCommand, "SANDLOT_WORKDIR=/missing"}, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	const why = "the start command cannot start: cwd '/missing' does not exist"
	eventually(t, "the probe says why", func() bool { return c.progress() == why })
	expectParts(t, "the log of the container", c.said.String(), why)
	const probe = `{"process":{"cmd":"` + installed + `","args":["ready"],"cwd":"/","envs":{"SANDLOT_READY_COMMAND":"any","SANDLOT_ENVD_PORT":"%d"}}}`
	got := c.open("process.Process/Start", fmt.Sprintf(probe, c.port), nil).collect()
	expect(t, "the probe", got.stdout, why+"\n")
	expectParts(t, "its end", fmt.Sprintf("%+v", got), "exit status 1")
}

func TestWithoutCommandsTheProbeDoesNotWait(t *testing.T) {
	if out, err := exec.Command(program, "ready").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("it says %s (%v)", out, err)
	}
}

func TestAHookThatRunsTwiceStartsTheStartCommandOnce(t *testing.T) {
	const hook = installed + " start && " + installed + " start -- sh -c 'env; echo hook has run'; "
	env := []string{startCommand, readyCommand, "SANDLOT_DEFAULT_USER=other", "SANDLOT_WORKDIR=/home/user"}
	c := imageForStart(t).start(env, "sh", "-c", "("+hook+") ; exec sleep 3600")
	eventually(t, "the hook returned", func() bool { return strings.Contains(c.said.String(), "hook has run") })
	if strings.Contains(c.said.String(), "_COMMAND=") {
		t.Errorf("the command of the hook has %s", c.said)
	}
	c.run("echo up > /tmp/up")
	expect(t, "the probe", c.ready(), "0\n")
	expect(t, "the log of the start command", c.run("cat /tmp/log").stdout, startLog)
	listed := c.run(`for c in /proc/[0-9]*/cmdline; do cat $c; echo; done 2>/dev/null`).stdout
	expect(t, "start commands", strconv.Itoa(strings.Count(listed, "sleep\x003600\x00\n")), "2")
}

func TestARestoredSandboxDoesNotRunTheStartCommandAgain(t *testing.T) {
	ours, _ := install(t)
	commands := []string{"SANDLOT_START_COMMAND=echo started >> /started; while :; do echo tick; sleep 1; done", "SANDLOT_READY_COMMAND=test -e /started"}
	i := imageWithAccounts(t)
	source := newSandbox(t, i, newPod(t, "source", append(ours.podEnv(sandboxUID, "1"), append(commands, "SANDLOT_DEFAULT_USER=root")...)...), command)
	source.boot()
	source.must(runsc(t), source.flags("exec", source.id, installed, "ready")...)
	snapshot := source.save()
	fork := newSandbox(t, i, newPod(t, "fork", append(ours.podEnv(forkUID, "2"), append(commands, "SANDLOT_DEFAULT_USER=root")...)...), command)
	fork.restore(snapshot)
	fork.awaitHealth()
	fork.must(runsc(t), fork.flags("exec", fork.id, installed, "ready")...)
	body := renewed
	expect(t, "init", strconv.Itoa(fork.init(ours.sign(forkUID, time.Now().UnixMilli(), body), body).status), "204")
	fork.token = "renewed"
	expect(t, "runs", fork.run("cat /started").stdout, "started\n")
	// Each sandbox has its own tag.
	for uid, each := range map[string]*gvisor{sandboxUID: source, forkUID: fork} {
		tag := sha256.Sum256([]byte("sandlot-log-v1\n" + uid))
		want := regexp.MustCompile(fmt.Sprintf(`(?m)^\[process \d+ stdout info %x\] tick$`, tag[:8]))
		eventually(t, "the log has what the start command prints", func() bool {
			said, err := os.ReadFile(each.log.Name())
			return err == nil && want.Match(said)
		})
	}
	// As programs do that write to the log of their container.
	expect(t, "writing to the log", fork.run("echo kept >> /proc/1/fd/1 && echo done").stdout, "done\n")
	fork.restartDaemon()
	expect(t, "runs after a restart of the daemon", fork.run("cat /started").stdout, "started\n")
}
