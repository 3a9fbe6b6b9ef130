package e2e

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// attempts are requests to the routes of the agent-sandbox API that the gate protects.
var attempts = map[string]string{
	"/execute": "POST", "/upload": "POST", "/download/etc/passwd": "GET", "/list/": "GET", "/exists/etc": "GET", "/list": "HEAD",
}

// expectExec checks every route of the agent-sandbox API. With a reason it expects 403 with that reason, else a
// success.
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
	notYet    = "the sandbox has not been initialised yet, or not for the agent-sandbox API"
	notForAll = "this sandbox has no claim: its agent-sandbox API answers the gateway and callers inside its Pod"
	unguarded = "no NetworkPolicy guards this sandbox: its agent-sandbox API answers the gateway and callers inside its Pod"
	notThis   = "this sandbox is not used by the agent-sandbox API: it was made for E2B clients"
)

func TestASignedInitOpensAndClosesTheAgentSandboxAPI(t *testing.T) {
	ours, env := install(t)
	d := serve(t, env...)
	d.expectExec("before /init", notYet)
	now := time.Now().UnixMilli()
	say := func(more string) {
		t.Helper()
		now++
		body := `{"accessToken":"token"` + more + `}`
		expect(t, "init with "+more, strconv.Itoa(d.init(ours.sign(sandboxUID, now, body), body).status), "204")
	}
	say("")
	d.expectExec("after an /init without exec", notYet)
	say(`,"sandlot":{"claim":"uid","exec":false}`)
	d.expectExec("after a signed /init with exec=false", notThis)
	d.restart()
	d.expectExec("after a restart", notThis)
	const body = `{"accessToken":"token","sandlot":{"exec":true}}`
	expect(t, "init by the tenant", strconv.Itoa(d.init(header{"X-Access-Token": "token"}, body).status), "204")
	d.expectExec("after an unsigned /init with exec=true", notThis)
	say(`,"sandlot":{"exec":true}`)
	d.expectExec("after a signed /init with exec=true", "")
	d.restart()
	d.expectExec("after another restart", "")
	say("")
	d.expectExec("after another /init without exec", "")
}

func TestExecOpenOpensTheAgentSandboxAPIWithoutInit(t *testing.T) {
	ours, env := install(t)
	d := serve(t, append(env, "SANDLOT_EXEC_OPEN=true")...)
	d.expectExec("before /init", "")
	expect(t, "the other port", strconv.Itoa(d.request("GET", "/envs", nil, nil).status), "401")
	const body = `{"accessToken":"token","sandlot":{"exec":false}}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	d.expectExec("after a signed /init with exec=false", notThis)
}

// outsideAddress returns an address of this machine that is not on loopback: what connects to it comes from it, as from
// another Pod.
func outsideAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range all {
		if network, ok := each.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP.String()
		}
	}
	t.Fatal("this machine has no IPv4 address but loopback; the test needs one")
	return ""
}

func TestWithoutAClaimTheAgentSandboxAPIAnswersOnlyTheGatewayAndTheInside(t *testing.T) {
	ours, env := install(t)
	others, _ := install(t)
	d := serve(t, append(env, "SANDLOT_EXEC_OPEN=gateway")...)
	d.expectExec("over loopback", "")
	address := outsideAddress(t)
	d.execURL = strings.Replace(d.execURL, "127.0.0.1", address, 1)
	d.expectExec("from another Pod", notForAll)
	for _, row := range []struct {
		name, proof, reason string
	}{
		{"another installation", others.prove(sandboxUID, address, time.Now()), notForAll},
		{"what another sandbox received", ours.prove("other", address, time.Now()), notForAll},
		{"what this sandbox received at another address", ours.prove(sandboxUID, "127.0.0.1", time.Now()), notForAll},
		{"what this sandbox received an hour ago", ours.prove(sandboxUID, address, time.Now().Add(-time.Hour)), notForAll},
		{"the gateway", ours.prove(sandboxUID, address, time.Now()), ""},
	} {
		d.proof = row.proof
		d.expectExec(row.name, row.reason)
	}
	const body = `{"accessToken":"token","sandlot":{"exec":false}}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	d.expectExec("the gateway, after a signed /init with exec=false", notThis)
}

func TestWithoutANetworkPolicyAClaimOpensTheAgentSandboxAPIToTheGatewayAndTheInside(t *testing.T) {
	ours, env := install(t)
	d := serve(t, append(env, "SANDLOT_EXEC_PROOF=true")...)
	d.expectExec("before /init", notYet)
	const body = `{"accessToken":"token","sandlot":{"exec":true}}`
	d.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	d.expectExec("over loopback", "")
	address := outsideAddress(t)
	d.execURL = strings.Replace(d.execURL, "127.0.0.1", address, 1)
	d.expectExec("from another Pod", unguarded)
	d.proof = ours.prove(sandboxUID, address, time.Now())
	d.expectExec("the gateway", "")
}

func TestInDebugModeTheAgentSandboxAPIIsOpen(t *testing.T) {
	d := serve(t)
	d.expectExec("before /init", "")
	d.init(nil, `{"sandlot":{"exec":false}}`)
	d.expectExec("after an /init with exec=false", "")
}
