package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// attempts are the routes of the agent-sandbox API that reach into the sandbox.
var attempts = map[string]string{
	"/execute": "POST", "/upload": "POST", "/download/etc/passwd": "GET", "/list/": "GET", "/exists/etc": "GET", "/list": "HEAD",
}

// expectExec checks every route of the agent-sandbox API: 403 and the reason, or, for an empty reason, that it answers.
func (d *daemon) expectExec(when, reason string) {
	d.t.Helper()
	for path, method := range attempts {
		got := d.send(d.execURL, method, path, header{"Content-Type": "application/json"}, strings.NewReader(`{"command":"true"}`))
		body := got.body
		if method == "HEAD" {
			body = `{"message":"` + reason + `"}`
		}
		if reason == "" && got.status == 403 {
			d.t.Errorf("%s: %s %s is forbidden: %s", when, method, path, got.body)
		}
		if reason != "" {
			expect(d.t, when+": "+path, strconv.Itoa(got.status)+body, `403{"message":"`+reason+`"}`)
		}
	}
	expect(d.t, when+": a probe", strconv.Itoa(d.send(d.execURL, "GET", "/", nil, nil).status), "200")
}

const (
	notYet  = "the sandbox has not been initialised yet, or not for the agent-sandbox API"
	notThis = "this sandbox is not used by the agent-sandbox API: it was made for E2B clients"
)

func TestTheAgentSandboxAPIAnswersWhereTheInstallationSaysSo(t *testing.T) {
	ours, env := install(t)
	d := serve(t, env...)
	d.expectExec("at first", notYet)
	now := time.Now().UnixMilli()
	say := func(more string) {
		t.Helper()
		now++
		body := `{"accessToken":"token"` + more + `}`
		expect(t, "init with "+more, strconv.Itoa(d.init(ours.sign(sandboxUID, now, body), body).status), "204")
	}
	say("")
	d.expectExec("once it said nothing of it", notYet)
	say(`,"sandlot":{"claim":"uid","exec":false}`)
	d.expectExec("once it said no", notThis)
	d.restart()
	d.expectExec("after a restart", notThis)
	const body = `{"accessToken":"token","sandlot":{"exec":true}}`
	expect(t, "init by the tenant", strconv.Itoa(d.init(header{"X-Access-Token": "token"}, body).status), "204")
	d.expectExec("once the tenant said yes", notThis)
	say(`,"sandlot":{"exec":true}`)
	d.expectExec("once it said yes", "")
	d.restart()
	d.expectExec("after another restart", "")
	say("")
	d.expectExec("once it said nothing new of it", "")
}

func TestASandboxThatNobodyInitialisesMayBeOpenToTheAgentSandboxAPI(t *testing.T) {
	ours, env := install(t)
	d := serve(t, append(env, "SANDLOT_EXEC_OPEN=true")...)
	d.expectExec("at first", "")
	expect(t, "the other port", strconv.Itoa(d.request("GET", "/envs", nil, nil).status), "401")
	const body = `{"accessToken":"token","sandlot":{"exec":false}}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	d.expectExec("once somebody has", notThis)
}

func TestWithoutAnInstallationTheAgentSandboxAPIIsOpen(t *testing.T) {
	d := serve(t)
	d.expectExec("at first", "")
	d.init(nil, `{"sandlot":{"exec":false}}`)
	d.expectExec("whatever is said", "")
}
