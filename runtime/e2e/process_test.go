package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAProcessStreamHasTheDocumentedBytes(t *testing.T) {
	d := serve(t)
	s := d.open("process.Process/Start", shell("echo hi"), nil)
	expect(t, "status", strconv.Itoa(s.status), "200")
	expect(t, "content type", s.header.Get("Content-Type"), "application/connect+json")
	start := s.message()
	if !strings.HasPrefix(start, `{"event":{"start":{"pid":`) {
		t.Errorf("first message: %s", start)
	}
	expect(t, "rest", s.rest(), `00 {"event":{"data":{"stdout":"aGkK"}}}`+"\n"+
		`00 {"event":{"end":{"exited":true,"status":"exit status 0"}}}`+"\n"+
		`02 {}`)
}

func TestTheEndEventReportsExitCodeAndSignal(t *testing.T) {
	d := serve(t)
	for name, row := range map[string]struct{ script, end string }{
		"with a code":                    {"exit 3", `{"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}`},
		"killed":                         {"kill -9 $$", `{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}`},
		"terminated":                     {"kill -15 $$", `{"exitCode":-1,"status":"signal: terminated","error":"signal: terminated"}`},
		"with an unknown command":        {"no-such-command 2>/dev/null", `{"exitCode":127,"exited":true,"status":"exit status 127","error":"exit status 127"}`},
		"with success after output":      {"printf out; printf err >&2", `{"exited":true,"status":"exit status 0"}`},
		"after closing all descriptors":  {"exec <&- >&- 2>&-; exit 4", `{"exitCode":4,"exited":true,"status":"exit status 4","error":"exit status 4"}`},
		"after output without a newline": {"printf '\\303'; printf '\\244'", `{"exited":true,"status":"exit status 0"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.run(row.script)
			expect(t, "end", got.end, row.end)
			expect(t, "trailer", got.trailer, "{}")
		})
	}
}

func TestStartFailsWithoutAStartEvent(t *testing.T) {
	d := serve(t)
	for name, row := range map[string]struct{ message, code, words string }{
		"a missing program":             {`{"process":{"cmd":"/no/such"}}`, "invalid_argument", "cannot start '/no/such': no such file or directory"},
		"a name outside the PATH":       {`{"process":{"cmd":"no-such"}}`, "invalid_argument", "cannot start 'no-such': executable file not found in $PATH"},
		"a file that is not executable": {`{"process":{"cmd":"/etc/passwd"}}`, "invalid_argument", "cannot start '/etc/passwd': permission denied"},
		"no command":                    {`{}`, "invalid_argument", "cannot start '': no command was given"},
		"a missing directory":           {`{"process":{"cmd":"true","cwd":"/no/./such"}}`, "invalid_argument", "cwd '/no/such' does not exist"},
		"a file as directory":           {`{"process":{"cmd":"true","cwd":"/etc/passwd"}}`, "invalid_argument", "cwd '/etc/passwd' does not exist"},
		"the home of another user":      {`{"process":{"cmd":"true","cwd":"~root"}}`, "invalid_argument", "a path may start with '~' or '~/', not with '~' and a user name"},
		"a variable name with '='":      {`{"process":{"cmd":"true","envs":{"A=B":"c"}}}`, "invalid_argument", `environment variable \"A=B\": the name may not be empty or contain '=', neither may contain NUL`},
		"a terminal too wide":           {`{"process":{"cmd":"true"},"pty":{"size":{"cols":65536,"rows":1}}}`, "invalid_argument", "a terminal has at most 65535 columns and rows"},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.open("process.Process/Start", row.message, nil).rest()
			expect(t, "stream", got, fmt.Sprintf(`02 {"error":{"code":"%s","message":"%s"}}`, row.code, row.words))
		})
	}
	got := d.open("process.Process/Start", shell("true"), header{"Authorization": "Basic " + b64("nobody-here:")}).rest()
	expect(t, "an unknown user", got, `02 {"error":{"code":"unauthenticated","message":"invalid username: 'nobody-here'"}}`)
}

func TestAProcessGetsOnlyItsDocumentedEnvironment(t *testing.T) {
	d := serve(t)
	d.request("POST", "/init", nil, strings.NewReader(`{"envVars":{"FROM_INIT":"1","BOTH":"init","HOME":"/"}}`))
	message := `{"process":{"cmd":"env","envs":{"BOTH":"request"}}}`
	got := d.open("process.Process/Start", message, nil).collect()
	name := ownUser(t)
	expect(t, "environment", got.stdout, "BOTH=request\nFROM_INIT=1\nHOME=/\nLOGNAME="+name+"\nPATH=/usr/local/bin:/usr/bin:/bin\nUSER="+name+"\n")
}

func TestTheWorkingDirectoryIsResolvedForTheUser(t *testing.T) {
	d := serve(t)
	home := strings.TrimSpace(d.run("echo $HOME").stdout)
	d.must("filesystem.Filesystem/MakeDir", `{"path":"/tmp/sandlot-cwd"}`)
	t.Cleanup(func() { _ = os.Remove("/tmp/sandlot-cwd") })
	rows := []struct{ name, workdir, cwd, want string }{
		{"the home without any directory", "", "", home},
		{"the home as ~", "", `,"cwd":"~"`, home},
		{"the default working directory", "/tmp/sandlot-cwd", "", "/tmp/sandlot-cwd"},
		{"the request's before the default", "/tmp/sandlot-cwd", `,"cwd":"/"`, "/"},
		{"a relative one below the home", "/tmp/sandlot-cwd", `,"cwd":"."`, home},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.workdir != "" {
				d.request("POST", "/init", nil, strings.NewReader(`{"defaultWorkdir":"`+row.workdir+`"}`))
			}
			got := d.open("process.Process/Start", `{"process":{"cmd":"/bin/pwd"`+row.cwd+`}}`, nil).collect()
			expect(t, "directory", strings.TrimSpace(got.stdout), row.want)
		})
	}
}

func TestListReturnsOnlyRunningProcesses(t *testing.T) {
	d := serve(t)
	expect(t, "empty list", d.must("process.Process/List", `{}`), `{}`)
	s, pid := d.begin(`{"process":{"cmd":"/bin/sleep","args":["60"],"envs":{"A":"b"},"cwd":"/"},"tag":"first"}`, nil)
	want := fmt.Sprintf(`{"processes":[{"config":{"cmd":"/bin/sleep","args":["60"],"envs":{"A":"b"},"cwd":"/"},"pid":%d,"tag":"first"}]}`, pid)
	expect(t, "list", d.must("process.Process/List", `{"unknown":[1]}`), want)
	d.must("process.Process/SendSignal", `{"process":{"tag":"first"},"signal":"SIGNAL_SIGKILL"}`)
	expect(t, "end", s.collect().end, `{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}`)
	expect(t, "list after the end", d.must("process.Process/List", `{}`), `{}`)
}

func TestATagSelectsTheNewestProcess(t *testing.T) {
	d := serve(t)
	d.begin(shell("sleep 60", `"tag":"x"`), nil)
	_, newest := d.begin(shell("sleep 60", `"tag":"x"`), nil)
	s := d.open("process.Process/Connect", `{"process":{"tag":"x"}}`, nil)
	expect(t, "start", s.message(), fmt.Sprintf(`{"event":{"start":{"pid":%d}}}`, newest))
}

func TestCallsToAnUnknownOrEndedProcessAreNotFound(t *testing.T) {
	d := serve(t)
	exited := d.run("true").pid
	for _, selector := range []string{`"process":{"pid":999999}`, `"process":{"tag":"none"}`, byPid(exited)} {
		for method, more := range map[string]string{
			"SendSignal": `,"signal":"SIGNAL_SIGTERM"`,
			"SendInput":  `,"input":{"stdin":"aGk="}`,
			"CloseStdin": ``,
			"Update":     `,"pty":{"size":{"cols":1,"rows":1}}`,
		} {
			t.Run(method+" to "+selector, func(t *testing.T) {
				got := d.unary("process.Process/"+method, "{"+selector+more+"}", nil)
				if got.status != 404 || !strings.HasPrefix(got.body, `{"code":"not_found","message":`) {
					t.Errorf("answered %d %s", got.status, got.body)
				}
			})
		}
	}
	late := d.open("process.Process/Connect", "{"+byPid(exited)+"}", nil).rest()
	expect(t, "connect after the end", late, fmt.Sprintf(`00 {"event":{"start":{"pid":%d}}}`, exited)+"\n"+
		`00 {"event":{"end":{"exited":true,"status":"exit status 0"}}}`+"\n"+`02 {}`)
	unknown := d.open("process.Process/Connect", `{"process":{"pid":999999}}`, nil).rest()
	if !strings.HasPrefix(unknown, `02 {"error":{"code":"not_found"`) {
		t.Errorf("connect to an unknown process: %s", unknown)
	}
}

func TestASignalReachesTheProcessGroupAndEndsTheWaitForOutput(t *testing.T) {
	d := serve(t)
	for _, signal := range []string{`"SIGNAL_SIGTERM"`, `"SIGNAL_SIGKILL"`, `15`, `9`} {
		t.Run(signal, func(t *testing.T) {
			// The first sleep is in the process group. The second leaves the group and keeps the output open.
			s, pid := d.begin(shell("sleep 300 & echo in $!; setsid sh -c 'echo out $$; exec sleep 301' & wait"), nil)
			children := map[string]string{}
			for said := ""; len(children) < 2; {
				said += s.until("\n")
				for _, found := range regexp.MustCompile(`(in|out) (\d+)\n`).FindAllStringSubmatch(said, -1) {
					children[found[1]] = found[2]
				}
			}
			d.must("process.Process/SendSignal", "{"+byPid(pid)+`,"signal":`+signal+"}")
			got := s.collect()
			if got.end == "" || got.trailer != "{}" {
				t.Errorf("ended with %+v", got)
			}
			eventually(t, "the child of the group is gone", func() bool { return gone(children["in"]) })
			outside, _ := strconv.Atoi(children["out"])
			if err := syscall.Kill(outside, syscall.SIGKILL); err != nil {
				t.Errorf("the child outside the group is gone: %v", err)
			}
		})
	}
	_, pid := d.begin(shell("sleep 60"), nil)
	got := d.unary("process.Process/SendSignal", "{"+byPid(pid)+`,"signal":"SIGNAL_UNSPECIFIED"}`, nil)
	expect(t, "other signals", fmt.Sprint(got.status), "501")
}

func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestTheEndWaitsForABackgroundChildThatHoldsTheOutput(t *testing.T) {
	d := serve(t)
	got := d.run("(sleep 0.3; echo late) & echo early")
	expect(t, "output", got.stdout, "early\nlate\n")
	expect(t, "end", got.end, `{"exited":true,"status":"exit status 0"}`)
}

func TestAProcessContinuesAfterItsClientDisconnects(t *testing.T) {
	d := serve(t)
	marker := t.TempDir() + "/went-on"
	s, pid := d.begin(shell("read line; echo $line > "+marker+"; sleep 60"), nil)
	s.close()
	d.must("process.Process/SendInput", "{"+byPid(pid)+`,"input":{"stdin":"`+b64("still here\n")+`"}}`)
	eventually(t, "the process wrote its file", func() bool {
		content, err := os.ReadFile(marker)
		return err == nil && string(content) == "still here\n"
	})
}

func TestEverySubscriberGetsFurtherOutputAndTheEnd(t *testing.T) {
	d := serve(t)
	first, pid := d.begin(shell("read a; echo before; read b; echo after"), nil)
	line := "{" + byPid(pid) + `,"input":{"stdin":"Cg=="}}`
	d.must("process.Process/SendInput", line)
	first.until("before\n")
	second := d.open("process.Process/Connect", "{"+byPid(pid)+"}", nil)
	second.message()
	d.must("process.Process/SendInput", line)
	for name, s := range map[string]*stream{"the starter": first, "the other": second} {
		got := s.collect()
		expect(t, name, got.stdout+got.end, "after\n"+`{"exited":true,"status":"exit status 0"}`)
	}
}

func TestProcessesHaveAHigherOOMScoreThanTheDaemon(t *testing.T) {
	d := serve(t)
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	base, _ := strconv.Atoi(strings.TrimSpace(string(own)))
	got := d.run("cat /proc/self/oom_score_adj")
	expect(t, "score of a child", strings.TrimSpace(got.stdout), strconv.Itoa(min(max(base, 0)+100, 1000)))
	after, _ := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", d.cmd.Process.Pid))
	expect(t, "score of the daemon", string(after), string(own))
}

func TestOrphansAreReapedAndNoChildLosesItsStatus(t *testing.T) {
	d := serve(t)
	for i := range 20 {
		// Each process leaves an orphan that ends at about the same time as the process itself.
		got := d.run(fmt.Sprintf("(setsid sh -c 'exit 9' &) ; exit %d", i+1))
		expect(t, "end", got.end, fmt.Sprintf(`{"exitCode":%d,"exited":true,"status":"exit status %d","error":"exit status %d"}`, i+1, i+1, i+1))
	}
	eventually(t, "no child of the daemon is left", func() bool {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", d.cmd.Process.Pid, d.cmd.Process.Pid))
		return err == nil && len(children) == 0
	})
}
