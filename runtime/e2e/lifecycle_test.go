package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// image is a root file system that contains only a static busybox and the installed daemon.
type image struct {
	t    *testing.T
	root string
}

// newImage creates an image like an init container would: the daemon installs itself into a folder.
func newImage(t *testing.T) image {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test creates a container and needs root")
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("install a static busybox: apt-get install busybox-static")
	}
	i := image{t, t.TempDir()}
	for _, dir := range []string{"bin", "dev", "proc", "tmp", "etc", "home/user", "root"} {
		_ = os.MkdirAll(filepath.Join(i.root, dir), 0o755)
	}
	copied, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	i.write("bin/busybox", string(copied), 0o755)
	for _, name := range []string{"sh", "sleep", "echo", "id", "cat", "kill", "pwd", "env", "true", "setsid", "readlink"} {
		_ = os.Symlink("busybox", filepath.Join(i.root, "bin", name))
	}
	i.write("dev/null", "", 0o666)
	if out, err := exec.Command(program, "install", i.root+"/.sandlot").CombinedOutput(); err != nil {
		t.Fatalf("install: %v %s", err, out)
	}
	return i
}

func (i image) write(name, content string, mode os.FileMode) {
	i.t.Helper()
	path := filepath.Join(i.root, name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		i.t.Fatal(err)
	}
	// MkdirAll applies the umask, so the mode is set again.
	_ = os.Chmod(path, mode)
}

// container is a process that is PID 1 of a container with the image.
type container struct {
	*daemon
	cmd *exec.Cmd
}

// start runs a command as PID 1 in PID and mount namespaces of its own.
func (i image) start(env []string, argv ...string) *container {
	i.t.Helper()
	d := &daemon{t: i.t, port: freePort(i.t), said: &safeBuffer{}}
	d.url = "http://127.0.0.1:" + strconv.Itoa(d.port)
	// Only a process inside the new PID namespace can mount its /proc.
	inner := append([]string{"/bin/busybox", "sh", "-c", "/bin/busybox mount -t proc proc /proc; exec \"$@\"", "sh"}, argv...)
	cmd := exec.Command("/bin/busybox", inner[1:]...)
	cmd.Path, cmd.Dir = "/bin/busybox", "/"
	cmd.Env = append([]string{"PATH=/bin", "SANDLOT_ENVD_PORT=" + strconv.Itoa(d.port), "SANDLOT_EXEC_PORT=0"}, withMode(env)...)
	cmd.Stdout, cmd.Stderr = d.said, d.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	c := &container{d, cmd}
	i.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return c
}

// pid returns the PID of the startEchoServer daemon within the container; empty if none answers.
func (c *container) pid() string {
	response, err := plainTransport.RoundTrip(c.newRequest(http.MethodGet, "/files?path=/proc/self/stat", nil, nil))
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	defer response.Body.Close()
	stat, _ := io.ReadAll(response.Body)
	number, _, _ := strings.Cut(string(stat), " ")
	return number
}

const installed = "/.sandlot/sandlot-runtime"

func (c *container) code() int {
	c.t.Helper()
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

func TestInstallWritesABinaryThatOthersCannotReplace(t *testing.T) {
	dir := t.TempDir()
	_ = os.Chmod(dir, 0o777)
	for range 2 {
		if out, err := exec.Command(program, "install", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	info, _ := os.Stat(dir)
	expect(t, "mode of the folder", info.Mode().String(), "dtrwxrwxrwx")
	entries, _ := os.ReadDir(dir)
	expect(t, "files", strconv.Itoa(len(entries)), "2")
	out, err := exec.Command(dir+"/sandlot-runtime", "version").CombinedOutput()
	expect(t, "version", fmt.Sprintf("%s%v", out, err), "0.6.4\n<nil>")
}

func TestRunStartsTheCommandAndTheDaemonInAnImageWithOnlyBusybox(t *testing.T) {
	c := newImage(t).start(nil, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	got := c.run("echo $0 $HOME; id -u")
	expect(t, "a shell where there is no bash", got.stdout, "/bin/sh /\n0\n")
	expect(t, "a program by name", c.open("process.Process/Start", `{"process":{"cmd":"pwd","cwd":"/tmp"}}`, nil).collect().stdout, "/tmp\n")
	expect(t, "a file", c.request("GET", "/files?path=/dev/null", nil, nil).body, "")
	expect(t, "output of the container", c.said.String(), "")
}

func TestRunExitsWithTheCodeOfTheCommand(t *testing.T) {
	i := newImage(t)
	for name, row := range map[string]struct {
		command []string
		code    int
	}{
		"with a code":       {[]string{"sh", "-c", "exit 7"}, 7},
		"with success":      {[]string{"true"}, 0},
		"by a signal":       {[]string{"sh", "-c", "kill -9 $$"}, 137},
		"not in the PATH":   {[]string{"no-such-command"}, 127},
		"no such file":      {[]string{"/no/such"}, 127},
		"not executable":    {[]string{"/dev/null"}, 126},
		"with orphans left": {[]string{"sh", "-c", "setsid sleep 1000 & exit 3"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := i.start(nil, append([]string{installed, "run", "--"}, row.command...)...)
			expect(t, "code", strconv.Itoa(c.code()), strconv.Itoa(row.code))
		})
	}
}

func TestRunForwardsSignalsToTheCommand(t *testing.T) {
	const script = `trap 'echo got TERM; exit 5' TERM; trap 'echo got USR1' USR1; echo ready; while :; do sleep 0.05; done`
	c := newImage(t).start(nil, installed, "run", "--", "sh", "-c", script)
	eventually(t, "the command is ready", func() bool { return strings.Contains(c.said.String(), "ready") })
	_ = c.cmd.Process.Signal(syscall.SIGUSR1)
	eventually(t, "the command got the signal", func() bool { return strings.Contains(c.said.String(), "got USR1") })
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	expect(t, "code", strconv.Itoa(c.code()), "5")
}

func TestRunReapsOrphansOfTheCommand(t *testing.T) {
	c := newImage(t).start(nil, installed, "run", "--", "sh", "-c", "for i in 1 2 3; do (setsid sh -c 'exit 0' &); done; echo done; sleep 3600")
	eventually(t, "the daemon answers", func() bool { return healthy(c.url) && strings.Contains(c.said.String(), "done") })
	eventually(t, "no zombie is left", func() bool {
		return c.run(`for s in /proc/[0-9]*/stat; do cat $s; done 2>/dev/null`).stdout != "" &&
			!strings.Contains(c.run(`for s in /proc/[0-9]*/stat; do cat $s; done 2>/dev/null`).stdout, ") Z ")
	})
}

func TestTheSupervisorRestartsADaemonThatDiesWithItsSettings(t *testing.T) {
	c := newImage(t).start([]string{"SANDLOT_RUNTIME_DIR=/.sandlot"}, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	c.init(nil, `{"accessToken":"kept"}`)
	c.token = "kept"
	pid := c.pid()
	// The daemon dies before it can answer this request.
	body := bytes.NewReader(envelope(0, shell("kill -9 "+pid)))
	if response, err := plainTransport.RoundTrip(c.newRequest(http.MethodPost, "/process.Process/Start", header{"Content-Type": "application/connect+json"}, body)); err == nil {
		_ = response.Body.Close()
	}
	eventually(t, "a new daemon accepts the token", func() bool {
		now := c.pid()
		return now != "" && now != pid
	})
	c.token = "other"
	expect(t, "without its token", strconv.Itoa(c.request(http.MethodGet, "/envs", nil, nil).status), "401")
}

func TestStartRunsOneDaemonAndReturnsWhenItAnswers(t *testing.T) {
	const hook = installed + " start && " + installed + " start; echo started $?; "
	c := newImage(t).start(nil, "sh", "-c", "("+hook+") ; exec sleep 3600")
	eventually(t, "the hook returned", func() bool { return strings.Contains(c.said.String(), "started") })
	expect(t, "output of the hook", c.said.String(), "started 0\n")
	expect(t, "health at that moment", strconv.FormatBool(healthy(c.url)), "true")
	listed := c.run(`for c in /proc/[0-9]*/cmdline; do cat $c; echo; done 2>/dev/null`).stdout
	expect(t, "daemons", strconv.Itoa(strings.Count(listed, "sandlot-runtime\x00serve")), "1")
	expect(t, "supervisors", strconv.Itoa(strings.Count(listed, "sandlot-runtime\x00supervise")), "1")
}

func TestStartExecutesACommandAfterTheDaemonStarted(t *testing.T) {
	i := newImage(t)
	for name, row := range map[string]struct{ hook, want string }{
		"a command with an exit code":   {installed + " start -- sh -c 'echo $0 $1; exit 3' a b", "a b\n3\n"},
		"a command that does not exist": {installed + " start -- no-such-command 2>/dev/null", "1\n"},
	} {
		c := i.start(nil, "sh", "-c", row.hook+"; echo $?; exec sleep 3600")
		eventually(t, "the hook returned", func() bool { return strings.HasSuffix(c.said.String(), row.want) })
		expect(t, name, c.said.String()+strconv.FormatBool(healthy(c.url)), row.want+"true")
	}
}

func TestOnATerminalAnInterruptReachesTheCommandOnce(t *testing.T) {
	d := serve(t)
	port := strconv.Itoa(freePort(t))
	const script = `n=0; trap 'n=$((n+1)); echo got $n' INT; echo ready; while :; do sleep 0.05; done`
	s, pid := d.begin(`{"process":{"cmd":"`+program+`","args":["run","--","/bin/sh","-c","`+script+`"],"envs":{"SANDLOT_ENVD_PORT":"`+port+
		`","SANDLOT_EXEC_PORT":"0","SANDLOT_RUNTIME_UNPROTECTED":"true","SANDLOT_RUNTIME_DIR":"`+t.TempDir()+`"}},"pty":{"size":{"cols":80,"rows":24}}}`, nil)
	s.until("ready\r\n")
	for n := range 3 {
		d.must("process.Process/SendInput", "{"+byPid(pid)+`,"input":{"pty":"`+b64("\x03")+`"}}`)
		got := s.until("\r\n")
		if !strings.Contains(got, "got "+strconv.Itoa(n+1)) {
			t.Errorf("interrupt %d: %q", n+1, got)
		}
	}
	d.must("process.Process/SendSignal", "{"+byPid(pid)+`,"signal":"SIGNAL_SIGTERM"}`)
	s.collect()
}

func TestStartReportsWhyTheDaemonCannotStart(t *testing.T) {
	for name, row := range map[string]struct{ env, words string }{
		"a bad port": {"SANDLOT_ENVD_PORT=high", `SANDLOT_ENVD_PORT is \"high\": it must be a whole number from 1 to 65535`},
		"a bad key":  {"SANDLOT_RUNTIME_PUBLIC_KEY=eA==", "SANDLOT_RUNTIME_PUBLIC_KEY must be the base64 of the 32 bytes of an Ed25519 key"},
		"no key":     {"A=b", "SANDLOT_RUNTIME_PUBLIC_KEY is empty: it must be the key of the installation"},
		"a key without a sandbox": {"SANDLOT_RUNTIME_PUBLIC_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
			"SANDLOT_SANDBOX_UID is empty: with SANDLOT_RUNTIME_PUBLIC_KEY it must name the sandbox"},
	} {
		cmd := exec.Command(program, "start")
		cmd.Env = []string{"SANDLOT_RUNTIME_DIR=" + t.TempDir(), row.env}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), row.words) {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	out, err := exec.Command(program, "serve", "extra").CombinedOutput()
	expect(t, "a wrong usage", fmt.Sprint(err, strings.HasPrefix(string(out), "usage: ")), "exit status 2 true")
}

func TestTheDaemonUsesLittleDiskAndMemory(t *testing.T) {
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(15 << 20); info.Size() >= most {
		t.Errorf("the binary has %d bytes", info.Size())
	}
	d := serve(t)
	if idle := status(t, d.cmd.Process.Pid, "VmRSS"); idle >= 11<<10 {
		t.Errorf("idle, it has %d KiB resident", idle)
	}
	for range 50 {
		d.run("echo busy")
	}
	eventually(t, "the daemon is small again after a busy time", func() bool { return status(t, d.cmd.Process.Pid, "VmRSS") < 10<<10 })
	t.Logf("binary %d bytes, resident %d KiB, of which private %d KiB", info.Size(), status(t, d.cmd.Process.Pid, "VmRSS"), status(t, d.cmd.Process.Pid, "RssAnon"))
}
