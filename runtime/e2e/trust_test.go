package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/javastore"
)

const (
	storeOfImage = "etc/ssl/certs/ca-certificates.crt"
	folder       = "SANDLOT_RUNTIME_DIR=/.sandlot"
	ofBundle     = "SSL_CERT_FILE=/.sandlot/ca/bundle.pem\n"
	ofAuthority  = "NODE_EXTRA_CA_CERTS=/.sandlot/ca/ca.pem\n"
)

// makeAuthority returns a certificate in PEM.
func makeAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// imageWithRoots creates a bare image with accounts and public roots.
func imageWithRoots(t *testing.T, roots string) image {
	t.Helper()
	i := imageWithAccounts(t)
	if err := os.MkdirAll(filepath.Join(i.root, filepath.Dir(storeOfImage)), 0o755); err != nil {
		t.Fatal(err)
	}
	i.write(storeOfImage, roots, 0o644)
	return i
}

func expectParts(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, got)
		}
	}
}

func TestTheCommandAndTheProcessesOfClientsTrustTheAuthority(t *testing.T) {
	authority, public := makeAuthority(t), makeAuthority(t)
	c := imageWithRoots(t, public).start([]string{folder, "SANDLOT_EGRESS_CA=" + authority, "PIP_CERT=/own"},
		installed, "run", "--", "sh", "-c", "env; cat /"+storeOfImage+"; echo ready; exec sleep 3600")
	c.awaitHealth()
	eventually(t, "the command has started", func() bool { return strings.Contains(c.said.String(), "ready\n") })
	expectParts(t, "what the command found", c.said.String(), ofBundle, ofAuthority, "PIP_CERT=/own\n", public+"# Begin of", authority+"# End of")
	env := c.run("env").stdout
	expectParts(t, "the environment of a process", env, ofBundle, ofAuthority, "PIP_CERT=/.sandlot/ca/bundle.pem\n", "USER=user\n")
	if strings.Contains(env, "SANDLOT_") {
		t.Errorf("the process has variables of the daemon: %s", env)
	}
	expect(t, "the bundle", c.run("cat /.sandlot/ca/bundle.pem").stdout, public+authority)
	own := c.open("process.Process/Start", `{"process":{"cmd":"env","envs":{"SSL_CERT_FILE":"/mine"}}}`, nil).collect().stdout
	expectParts(t, "an environment with a variable of its own", own, "SSL_CERT_FILE=/mine\n", ofAuthority)
}

func TestAHookThatStartsTheDaemonMakesProgramsTrustTheAuthority(t *testing.T) {
	authority, public := makeAuthority(t), makeAuthority(t)
	c := imageWithRoots(t, public).start([]string{folder, "SANDLOT_EGRESS_CA=" + authority},
		"sh", "-c", installed+" start -- sh -c 'env; cat /"+storeOfImage+"; echo started'; exec sleep 3600")
	eventually(t, "the hook has returned", func() bool { return strings.HasSuffix(c.said.String(), "started\n") })
	expectParts(t, "what the command of the hook found", c.said.String(), ofBundle, ofAuthority, public+"# Begin of", authority+"# End of")
	expectParts(t, "the environment of a process", c.run("env").stdout, ofBundle, ofAuthority)
}

func TestTheCommandFindsTheAuthorityInTheStoreOfAJVM(t *testing.T) {
	const ofJVM = "opt/java/openjdk/lib/security/cacerts"
	i, authority := imageWithRoots(t, makeAuthority(t)), makeAuthority(t)
	empty, err := javastore.New(nil, nil)
	if err == nil {
		err = os.MkdirAll(filepath.Join(i.root, filepath.Dir(ofJVM)), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	i.write(ofJVM, string(empty), 0o644)
	c := i.start([]string{folder, "SANDLOT_EGRESS_CA=" + authority},
		installed, "run", "--", "sh", "-c", "cat /"+ofJVM+" > /seen; echo ready; exec sleep 3600")
	eventually(t, "the command has started", func() bool { return strings.Contains(c.said.String(), "ready\n") })
	block, _ := pem.Decode([]byte(authority))
	for _, name := range []string{"seen", ".sandlot/ca/cacerts"} {
		store, err := os.ReadFile(filepath.Join(i.root, name))
		if err != nil || !bytes.Contains(store, block.Bytes) {
			t.Errorf("%s, of %d bytes, lacks the authority: %v", name, len(store), err)
		}
	}
}

func TestWithoutAnAuthorityNothingChanges(t *testing.T) {
	public := makeAuthority(t)
	for name, row := range map[string]struct{ given, said string }{
		"none":                 {"", ""},
		"what is no authority": {"hello", "expected certificates in PEM"},
	} {
		c := imageWithRoots(t, public).start([]string{folder, "SANDLOT_EGRESS_CA=" + row.given}, installed, "run", "--", "sleep", "3600")
		c.awaitHealth()
		got := c.run("env; cat /" + storeOfImage + "; echo /.sandlot/*").stdout
		if strings.Contains(got, "SSL_CERT_FILE") || strings.Contains(got, "# Begin of") || strings.Contains(got, "/.sandlot/ca") {
			t.Errorf("%s: got %s", name, got)
		}
		if said := c.said.String(); !strings.Contains(said, row.said) || strings.Contains(said, "hello") || row.said == "" && said != "" {
			t.Errorf("%s: the daemon said %s", name, said)
		}
	}
}

func TestABundleOfInitIsTrustedBesideTheAuthorityAndOutlivesTheDaemon(t *testing.T) {
	authority, public, bundle := makeAuthority(t), makeAuthority(t), makeAuthority(t)
	c := imageWithRoots(t, public).start([]string{folder, "SANDLOT_EGRESS_CA=" + authority}, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	body, err := json.Marshal(map[string]string{"caBundle": bundle, "accessToken": "token", "defaultUser": "root"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "init", strconv.Itoa(c.init(nil, string(body)).status), "204")
	c.token = "other"
	expect(t, "init with another token", strconv.Itoa(c.init(nil, string(body)).status), "401")
	c.token = "token"
	expect(t, "init with something else", strconv.Itoa(c.init(header{"X-Access-Token": "token"}, `{"caBundle":"hello","accessToken":"token"}`).status), "400")
	check := func(when string) {
		t.Helper()
		expect(t, "the bundle "+when, c.run("cat /.sandlot/ca/bundle.pem").stdout, public+authority+bundle)
		expect(t, "the authorities "+when, c.run("cat /.sandlot/ca/ca.pem").stdout, authority+bundle)
		expectParts(t, "the store of the image "+when, c.run("cat /"+storeOfImage).stdout, authority+bundle+"# End of")
	}
	check("after init")
	(&gvisor{daemon: c.daemon}).restartDaemon()
	check("after a restart of the daemon")
}

func TestABundleOfInitNeedsNoAuthority(t *testing.T) {
	c := imageWithRoots(t, makeAuthority(t)).start([]string{folder}, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	body, _ := json.Marshal(map[string]string{"caBundle": makeAuthority(t)})
	expect(t, "init", strconv.Itoa(c.init(nil, string(body)).status), "204")
	expectParts(t, "the environment of a process", c.run("env").stdout, ofBundle, ofAuthority)
}

// inGVisor boots a sandbox of gVisor whose Pod names an authority, and initialises it.
func inGVisor(t *testing.T, i image, authority string, change func(config map[string]any)) source {
	t.Helper()
	ours, _ := install(t)
	s := source{ours: ours, image: i}
	env := append(ours.podEnv(sandboxUID, "1"), "SANDLOT_EGRESS_CA="+authority)
	s.gvisor = newSandbox(t, i, newPod(t, "source", env...), command)
	s.reconfigure(change)
	s.boot()
	s.initialise(s.ours, sandboxUID)
	return s
}

func (g *gvisor) reconfigure(change func(config map[string]any)) {
	g.t.Helper()
	path := filepath.Join(g.bundle, "config.json")
	content, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(content, &config); err != nil {
		g.t.Fatal(err)
	}
	change(config)
	if content, err = json.Marshal(config); err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gvisor) initialise(ours installation, uid string) {
	g.t.Helper()
	got := g.init(ours.sign(uid, time.Now().UnixMilli(), secrets), secrets)
	expect(g.t, "init", strconv.Itoa(got.status), strconv.Itoa(http.StatusNoContent))
	g.token = "token"
}

func TestInGVisorProgramsTrustTheAuthorityAlsoWhereTheRootIsReadOnly(t *testing.T) {
	authority, public := makeAuthority(t), makeAuthority(t)
	for _, readonly := range []bool{false, true} {
		s := inGVisor(t, imageWithRoots(t, public), authority, func(config map[string]any) {
			root, _ := config["root"].(map[string]any)
			root["readonly"] = readonly
		})
		expect(t, "the bundle", s.run("cat $SSL_CERT_FILE").stdout, public+authority)
		if got := s.run("cat /" + storeOfImage).stdout; strings.Contains(got, authority) == readonly {
			t.Errorf("with a read-only root %v, the store has %s", readonly, got)
		}
		said, _ := os.ReadFile(s.log.Name())
		expect(t, "output of the container", string(said), "")
	}
}

func TestARestoredSandboxTrustsTheAuthorityOfItsNewPod(t *testing.T) {
	before, after, public := makeAuthority(t), makeAuthority(t), makeAuthority(t)
	s := inGVisor(t, imageWithRoots(t, public), before, func(map[string]any) {})
	expect(t, "the bundle of the source", s.run("cat $SSL_CERT_FILE").stdout, public+before)
	s.snapshot = s.save()
	for uid, authority := range map[string]string{sandboxUID: after, forkUID: ""} {
		p := newPod(t, "restored", append(s.ours.podEnv(uid, "2"), "SANDLOT_EGRESS_CA="+authority)...)
		restored := s.restoreAs(p)
		restored.initialise(s.ours, uid)
		expect(t, "the bundle of "+uid, restored.run("cat /state/ca/bundle.pem").stdout, public+authority)
		store := restored.run("cat /" + storeOfImage).stdout
		if strings.Contains(store, before) || !strings.Contains(store, public) || !strings.Contains(store, authority) {
			t.Errorf("the store of %s has %s", uid, store)
		}
		named := restored.run("echo $SSL_CERT_FILE").stdout != "\n"
		expect(t, "variables of "+uid, strconv.FormatBool(named), strconv.FormatBool(authority != ""))
	}
}
