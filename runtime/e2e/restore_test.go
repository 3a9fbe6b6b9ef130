package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/proof"
)

const (
	forkUID = "0b6f7c1e-0000-4000-8000-000000000002"
	// command is what the containers run beside the daemon.
	command = "while :; do sleep 1; done"
	// counting is a program of a user, with a variable of /init.
	counting = `i=0; while :; do i=$((i+1)); echo $A $i; sleep 0.05; done`
	secrets  = `{"accessToken":"token","envVars":{"A":"source"},"sandlot":{"exec":true,"sandbox":{"id":"source","template":"base"}}}`
	renewed  = `{"accessToken":"renewed","envVars":{"A":"new"},"sandlot":{"sandbox":{"id":"fork","template":"base"}}}`
)

// podEnv returns the variables of a Pod.
func (i installation) podEnv(uid, podUID string) []string {
	key := base64.StdEncoding.EncodeToString(i.public)
	return []string{
		"SANDLOT_RUNTIME_PUBLIC_KEY=" + key, "SANDLOT_GATEWAY_PUBLIC_KEYS=" + key, "SANDLOT_SANDBOX_UID=" + uid, "SANDLOT_POD_UID=" + podUID,
	}
}

// source is an initialised sandbox with a running process of its user.
type source struct {
	*gvisor
	ours     installation
	image    image
	signed   header
	snapshot string
}

// late is an option of snapshots. Restored processes run for a second before gVisor reports the restore, which else comes
// within milliseconds.
const late = "--save-restore-exec-argv=/bin/sleep 1"

// newSource boots a sandbox, initialises it, starts a process with the tag "kept" and takes a snapshot.
func newSource(t *testing.T, h header, options ...string) source {
	t.Helper()
	ours, _ := install(t)
	s := source{ours: ours, image: newImage(t)}
	s.gvisor = newSandbox(t, s.image, newPod(t, "source", ours.podEnv(sandboxUID, "1")...), command)
	s.boot()
	s.signed = ours.sign(sandboxUID, time.Now().UnixMilli(), secrets)
	expect(t, "init of the source", strconv.Itoa(s.init(s.signed, secrets).status), "204")
	s.token = "token"
	s.open("process.Process/Start", `{"process":{"cmd":"/bin/sh","args":["-c",`+strconv.Quote(counting)+`]},"tag":"kept"}`, h).message()
	s.snapshot = s.save(options...)
	return s
}

// restoreAs restores the snapshot into a Pod. It asks with the source's credentials from before the first moment in which the
// Pod can answer until the daemon has answered often, and fails the test if one is let in.
func (s source) restoreAs(p pod) *gvisor {
	s.t.Helper()
	restored := newSandbox(s.t, s.image, p, command)
	stop := restored.pester(map[string]func(*http.Request){
		restored.url + "/envs":    func(r *http.Request) { r.Header.Set("X-Access-Token", "token") },
		restored.url + "/metrics": func(r *http.Request) { r.Header.Set("X-Access-Token", "token") },
		restored.url + "/sandlot/tunnel?port=1": func(r *http.Request) {
			r.Header.Set("Upgrade", "sandlot-tunnel")
			r.Header.Set(proof.Header, s.ours.prove(sandboxUID, restored.address, time.Now()))
		},
		restored.execURL + "/list/": func(r *http.Request) {
			r.Header.Set(proof.Header, s.ours.prove(sandboxUID, restored.address, time.Now()))
		},
	})
	restored.restore(s.snapshot)
	restored.awaitHealth()
	for url, statuses := range stop() {
		for status, count := range statuses {
			if status != 401 && status != 403 {
				s.t.Errorf("%s answered %d to %d requests with the credentials of the source", url, status, count)
			}
		}
		if len(statuses) == 0 {
			s.t.Errorf("%s did not answer", url)
		}
	}
	return restored
}

// pester asks all URLs at once and again, each over new connections. The result stops it, when each was answered a hundred
// times, and returns how often each answered with which status.
func (g *gvisor) pester(asks map[string]func(*http.Request)) (stop func() map[string]map[int]int) {
	ending, end := context.WithCancel(context.Background())
	g.t.Cleanup(end)
	total := map[string]map[int]int{}
	var all sync.WaitGroup
	for url, dress := range asks {
		statuses := map[int]int{}
		total[url] = statuses
		all.Go(func() {
			for answers := 0; ending.Err() == nil || answers < 100; answers++ {
				status := askOnce(url, dress)
				if status == 0 && ending.Err() != nil {
					return
				}
				if status == 0 {
					answers--
					time.Sleep(time.Millisecond)
					continue
				}
				statuses[status]++
			}
		})
	}
	return func() map[string]map[int]int {
		end()
		all.Wait()
		return total
	}
}

// askOnce returns the status of the answer; 0: there was none.
func askOnce(url string, dress func(*http.Request)) int {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	dress(request)
	transport := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 20 * time.Millisecond}).DialContext, ResponseHeaderTimeout: patience}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestAForkNeverAnswersToTheCredentialsOfItsSource(t *testing.T) {
	s := newSource(t, nil, late)
	p := newPod(t, "fork", s.ours.podEnv(forkUID, "2")...)
	fork := s.restoreAs(p)
	fork.expectExec("the fork, before its /init", notYet)
	before := time.Now().Add(-time.Hour).UnixMilli()
	now := time.Now().UnixMilli()
	for _, row := range []struct {
		name   string
		header header
		body   string
		want   string
	}{
		{"the token of the source", header{"X-Access-Token": "token"}, secrets, "401"},
		{"the /init of the source", s.signed, secrets, "401unknown-key"},
		{"a new /init for the source", s.ours.sign(sandboxUID, now, secrets), secrets, "401unknown-key"},
		{"an /init of the fork from before the restore", s.ours.sign(forkUID, before, renewed), renewed, "401not-newer"},
		{"the /init of the fork", s.ours.sign(forkUID, now, renewed), renewed, "204"},
		{"the same again", s.ours.sign(forkUID, now, renewed), renewed, "401not-newer"},
	} {
		got := fork.init(row.header, row.body)
		expect(t, row.name, strconv.Itoa(got.status)+got.header.Get("X-Sandlot-Refusal"), row.want)
		if got.status == 204 {
			expect(t, "report of "+row.name, got.header.Get("X-Sandlot-Restored"), "true")
		}
	}
	fork.token = "renewed"
	expect(t, "variables of a new process", fork.run("echo $A; sleep 1").stdout, "new\n")
	named := fork.run("echo $E2B_SANDBOX_ID; cat /run/e2b/.E2B_SANDBOX_ID").stdout
	expect(t, "how the fork and its file name it", named, "fork\nfork")
	// By now gVisor has reported the restore, which the daemon has noticed before.
	expect(t, "variables of the process of the source", fork.output(), "source")
	expect(t, "variables of the fork", fork.request("GET", "/envs", nil, nil).body, `{"A":"new","E2B_SANDBOX":"true","E2B_SANDBOX_ID":"fork","E2B_TEMPLATE_ID":"base"}`)
	// The process of the source goes on in the fork, and was started elsewhere.
	if said := fork.records(0).String(); !strings.Contains(said, "$E2B_SANDBOX_ID") || strings.Contains(said, "started: /bin/sh -c \"i=0") {
		t.Errorf("the fork has these records: %s", said)
	}
	_, hash := fork.dialTLS()
	expect(t, "key of the fork", hash, p.hash(t))
	expect(t, "the source, with its token", s.request("GET", "/envs", nil, nil).body, `{"A":"source","E2B_SANDBOX":"true","E2B_SANDBOX_ID":"source","E2B_TEMPLATE_ID":"base"}`)
	s.token = "renewed"
	expect(t, "the source, with the token of the fork", strconv.Itoa(s.request("GET", "/envs", nil, nil).status), "401")
	expect(t, "settings that the fork keeps", fork.kept(p), "renewed "+forkUID)
}

// kept returns token and UID that the daemon keeps in the folder of its Pod.
func (g *gvisor) kept(p pod) string {
	g.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.state, "state.json"))
	if err != nil {
		g.t.Fatal(err)
	}
	token, uid := "", ""
	for each := range strings.SplitSeq(string(content), `"`) {
		switch {
		case each == "token" || each == "renewed":
			token = each
		case each == sandboxUID || each == forkUID:
			uid = each
		}
	}
	return token + " " + uid
}

// hash returns the hash of the key that the Pod mounts.
func (p pod) hash(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(p.program, "identity.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	secret, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(secret.(ed25519.PrivateKey).Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// output attaches to the process with the tag "kept" and returns the first word of its output, which must go on.
func (g *gvisor) output() string {
	g.t.Helper()
	s := g.open("process.Process/Connect", `{"process":{"tag":"kept"}}`, nil)
	s.message()
	word := ""
	for range 3 {
		var data struct {
			Event struct{ Data struct{ Stdout []byte } }
		}
		if err := json.Unmarshal([]byte(s.message()), &data); err != nil {
			g.t.Fatal(err)
		}
		word, _, _ = strings.Cut(string(data.Event.Data.Stdout), " ")
	}
	s.close()
	return word
}

func TestASandboxThatIsResumedNeedsANewInit(t *testing.T) {
	// The process may run for 6 s, and is saved for longer.
	s := newSource(t, header{"Connect-Timeout-Ms": "6000"}, late)
	s.remove()
	time.Sleep(7 * time.Second)
	p := newPod(t, "source", s.ours.podEnv(sandboxUID, "2")...)
	resumed := s.restoreAs(p)
	now := time.Now().UnixMilli()
	expect(t, "the /init from before", resumed.init(s.signed, secrets).header.Get("X-Sandlot-Refusal"), "not-newer")
	expect(t, "a new /init", strconv.Itoa(resumed.init(s.ours.sign(sandboxUID, now, renewed), renewed).status), "204")
	resumed.token = "renewed"
	expect(t, "variables of the process from before", resumed.output(), "source")
	resumed.restartDaemon()
	expect(t, "variables after a restart of the daemon", resumed.run("echo $A").stdout, "new\n")
	expect(t, "settings", resumed.kept(p), "renewed "+sandboxUID)
	resumed.token = "token"
	expect(t, "the token from before", strconv.Itoa(resumed.request("GET", "/envs", nil, nil).status), "401")
}

// restartDaemon kills the daemon and waits for the next one.
func (g *gvisor) restartDaemon() {
	g.t.Helper()
	pid := (&container{daemon: g.daemon}).pid()
	body := string(envelope(0, shell("kill -9 "+pid)))
	if response, err := plainTransport.RoundTrip(g.newRequest(http.MethodPost, "/process.Process/Start", header{"Content-Type": "application/connect+json"}, strings.NewReader(body))); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	eventually(g.t, "another daemon answers", func() bool {
		next := (&container{daemon: g.daemon}).pid()
		return next != "" && next != pid
	})
}

func TestADaemonThatStartsAgainAfterARestoreIsThatOfTheNewPod(t *testing.T) {
	s := newSource(t, nil)
	p := newPod(t, "fork", s.ours.podEnv(forkUID, "2")...)
	fork := s.restoreAs(p)
	body := fmt.Sprintf(`{"accessToken":"renewed","timestamp":%q}`, time.Now().UTC().Format(time.RFC3339Nano))
	fork.init(s.ours.sign(forkUID, time.Now().UnixMilli(), body), body)
	fork.token = "renewed"
	fork.restartDaemon()
	now := time.Now().Add(time.Second).UnixMilli()
	expect(t, "an /init for the source", strconv.Itoa(fork.init(s.ours.sign(sandboxUID, now, renewed), renewed).status), "401")
	expect(t, "an /init for the fork", strconv.Itoa(fork.init(s.ours.sign(forkUID, now, renewed), renewed).status), "204")
}

func TestARestoreIntoAPodOfTheSameEnvironmentIsNoticed(t *testing.T) {
	s := newSource(t, nil)
	s.remove()
	resumed := newSandbox(t, s.image, newPod(t, "source", s.ours.podEnv(sandboxUID, "1")...), command)
	resumed.restore(s.snapshot)
	resumed.awaitHealth()
	resumed.token = "token"
	eventually(t, "the token from before is refused", func() bool { return resumed.request("GET", "/envs", nil, nil).status == 401 })
	expect(t, "a new /init", strconv.Itoa(resumed.init(s.ours.sign(sandboxUID, time.Now().UnixMilli(), renewed), renewed).status), "204")
	resumed.token = "renewed"
	expect(t, "variables", resumed.request("GET", "/envs", nil, nil).body, `{"A":"new","E2B_SANDBOX":"true","E2B_SANDBOX_ID":"fork","E2B_TEMPLATE_ID":"base"}`)
	if said := resumed.records(0).String(); !strings.HasPrefix(said, "info started: /bin/sh -c ") {
		t.Errorf("the resumed sandbox lacks records from before: %s", said)
	}

}

func TestAPodWithoutTheKeyOfTheInstallationClosesTheDaemon(t *testing.T) {
	s := newSource(t, nil)
	closed := s.restoreAs(newPod(t, "closed"))
	for _, uid := range []string{"", sandboxUID, forkUID} {
		got := closed.init(s.ours.sign(uid, time.Now().UnixMilli(), renewed), renewed)
		expect(t, "an /init for "+uid, strconv.Itoa(got.status), "401")
	}
	expect(t, "an /init without a signature", strconv.Itoa(closed.init(nil, renewed).status), "401")
}

func TestStreamsOverLoopbackEndWithARestore(t *testing.T) {
	s := newSource(t, nil)
	const ask = `POST /process.Process/Connect HTTP/1.1\r\nHost: x\r\nX-Access-Token: token\r\nContent-Type: application/connect+json\r\n` +
		`Content-Length: 31\r\n\r\n\0\0\0\0\032{"process":{"tag":"kept"}}`
	const client = `busybox mkfifo /tmp/ask; (printf '` + ask + `'; exec sleep 1000) > /tmp/ask & ` +
		`busybox nc 127.0.0.1 49983 < /tmp/ask > /tmp/stream; echo closed > /tmp/closed; sleep 1000`
	s.open("process.Process/Start", shell(client), nil).message()
	const seen = `cat /tmp/closed 2>/dev/null; busybox grep -c stdout /tmp/stream`
	eventually(t, "the client inside has output", func() bool { return s.run(seen).stdout > "1" })
	s.snapshot = s.save()
	fork := s.restoreAs(newPod(t, "fork", s.ours.podEnv(forkUID, "2")...))
	expect(t, "the /init of the fork", strconv.Itoa(fork.init(s.ours.sign(forkUID, time.Now().UnixMilli(), renewed), renewed).status), "204")
	fork.token = "renewed"
	eventually(t, "the stream of the client inside the fork has ended", func() bool { return strings.HasPrefix(fork.run(seen).stdout, "closed") })
	if got := s.run(seen).stdout; strings.HasPrefix(got, "closed") {
		t.Errorf("the stream of the client inside the source has ended")
	}
}
