package e2e

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/files"
	"sandlot.dev/runtime/internal/proof"
	"sandlot.dev/runtime/internal/server"
)

const sandboxUID = "0b6f7c1e-0000-4000-8000-000000000001"

// installation signs the /init calls for a sandbox, and the proofs of its gateway.
type installation struct {
	public ed25519.PublicKey
	secret ed25519.PrivateKey
}

func install(t *testing.T) (installation, []string) {
	t.Helper()
	public, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"SANDLOT_RUNTIME_PUBLIC_KEY=" + base64.StdEncoding.EncodeToString(public),
		"SANDLOT_GATEWAY_PUBLIC_KEYS=" + base64.StdEncoding.EncodeToString(public),
		"SANDLOT_SANDBOX_UID=" + sandboxUID,
	}
	return installation{public, secret}, env
}

// prove returns the proof of a gateway that has the installation's key, for a request to an address.
func (i installation) prove(uid, address string, at time.Time) string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	signature := ed25519.Sign(i.secret, proof.SignedText(uid, address, stamp))
	return stamp + ";" + address + ";" + base64.StdEncoding.EncodeToString(signature)
}

// sign returns the headers of a signed /init.
func (i installation) sign(uid string, unixMs int64, body string) header {
	stamp := strconv.FormatInt(unixMs, 10)
	signature := ed25519.Sign(i.secret, server.SignedText(uid, stamp, []byte(body)))
	return header{"X-Sandlot-Timestamp": stamp, "X-Sandlot-Signature": base64.StdEncoding.EncodeToString(signature)}
}

func (d *daemon) init(h header, body string) answer {
	d.t.Helper()
	return d.request("POST", "/init", h, strings.NewReader(body))
}

func TestTheSignedTextIsTheDocumentedOne(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	expect(t, "text", string(server.SignedText("uid", "17", nil)), "sandlot-init-v1\nuid\n17\n"+empty)
}

func TestBeforeInitEveryRequestIsUnauthorised(t *testing.T) {
	_, env := install(t)
	d := serve(t, env...)
	for path, method := range map[string]string{
		"/sandlot/tunnel?port=1": "GET",
		"/process.Process/List":  "POST", "/envs": "GET", "/metrics": "GET", "/files?path=/etc/passwd": "GET", "/files/compose": "POST", "/none": "GET",
	} {
		got := d.request(method, path, header{"Content-Type": "application/json"}, strings.NewReader("{}"))
		expect(t, path, fmt.Sprintf("%d %s", got.status, got.body), `401 {"code":401,"message":"the sandbox has not been initialised yet"}`)
	}
	expect(t, "health", strconv.FormatBool(healthy(d.url)), "true")
}

func TestOnlyASignedInitIsAccepted(t *testing.T) {
	ours, env := install(t)
	others, _ := install(t)
	d := serve(t, env...)
	const body = `{"accessToken":"token","envVars":{"A":"1"}}`
	now := time.Now().UnixMilli()
	for _, row := range []struct {
		name   string
		header header
		body   string
		status int
	}{
		{"no credentials", nil, body, 401},
		{"a guessed token", header{"X-Access-Token": "guess"}, body, 401},
		{"another installation", others.sign(sandboxUID, now, body), body, 401},
		{"a signature for another sandbox", ours.sign("other", now, body), body, 401},
		{"a signature for another body", ours.sign(sandboxUID, now, "{}"), body, 401},
		{"a signature without a timestamp", ours.sign(sandboxUID, 0, body), body, 401},
		{"a malformed signature", header{"X-Sandlot-Timestamp": "1", "X-Sandlot-Signature": "%"}, body, 401},
		{"a signed malformed body", ours.sign(sandboxUID, now, "nope"), "nope", 400},
		{"the installation", ours.sign(sandboxUID, now, body), body, 204},
		{"the same request again", ours.sign(sandboxUID, now, body), body, 401},
		{"an older signature", ours.sign(sandboxUID, now-1, body), body, 401},
		{"the current token", header{"X-Access-Token": "token"}, body, 204},
		{"the installation later", ours.sign(sandboxUID, now+1, `{"accessToken":"second"}`), `{"accessToken":"second"}`, 204},
		{"the previous token", header{"X-Access-Token": "token"}, body, 401},
	} {
		got := d.init(row.header, row.body)
		if got.status != row.status {
			t.Errorf("%s: answered %d %s", row.name, got.status, got.body)
		}
		if got.status == 204 {
			expect(t, "version after "+row.name, got.header.Get("X-Envd-Version"), "0.6.4")
		}
	}
	d.token = "second"
	expect(t, "environment that the second /init left out", d.request("GET", "/envs", nil, nil).body, `{"A":"1","E2B_SANDBOX":"true"}`)
}

func TestSettingsOfInitSurviveARestart(t *testing.T) {
	ours, env := install(t)
	d := serve(t, env...)
	now := time.Now().UnixMilli()
	const body = `{"accessToken":"token","envVars":{"A":"1"},"defaultWorkdir":"/usr"}`
	d.init(ours.sign(sandboxUID, now, body), body)
	info, err := os.Stat(d.dir + "/state.json")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "mode of the settings file", info.Mode().String(), "-rw-------")
	d.restart()
	expect(t, "a replay", strconv.Itoa(d.init(ours.sign(sandboxUID, now, body), body).status), "401")
	expect(t, "no token", strconv.Itoa(d.request("GET", "/envs", nil, nil).status), "401")
	d.token = "token"
	expect(t, "environment and workdir", d.run("echo $A; pwd").stdout, "1\n/usr\n")
}

func TestASettingsFileThatOthersCouldWriteIsIgnored(t *testing.T) {
	_, env := install(t)
	d := serve(t, env...)
	for name, prepare := range map[string]func(path string) error{
		"a file others may read":       func(path string) error { return os.WriteFile(path, []byte(`{"initialized":true}`), 0o644) },
		"a symlink":                    func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a file that is torn":          func(path string) error { return os.WriteFile(path, []byte(`{"initia`), 0o600) },
		"a directory of all things":    func(path string) error { return os.Mkdir(path, 0o700) },
		"an empty file, to be precise": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		path := d.dir + "/state.json"
		_ = os.RemoveAll(path)
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		d.restart()
		expect(t, name, strconv.Itoa(d.request("GET", "/envs", nil, nil).status), "401")
	}
}

func TestInDebugModeTheFirstCallerSetsTheToken(t *testing.T) {
	d := serve(t)
	expect(t, "open at first", d.request("GET", "/envs", nil, nil).body, "{}")
	init := func(body string) string { return strconv.Itoa(d.init(nil, body).status) }
	expect(t, "an empty body", init(""), "204")
	expect(t, "the first token", init(`{"accessToken":"a","timestamp":"2026-01-02T03:04:05.000000002Z","envVars":{"V":"new"}}`), "204")
	expect(t, "without the token", init(`{}`), "401")
	d.token = "b"
	expect(t, "with a wrong token", init(`{}`), "401")
	d.token = "a"
	expect(t, "an older timestamp", init(`{"accessToken":"c","timestamp":"2026-01-02T03:04:05.000000001Z","envVars":{"V":"old"}}`), "204")
	got := d.request("GET", "/envs", nil, nil)
	expect(t, "environment after the older one", got.body+got.header.Get("Cache-Control"), `{"V":"new"}no-store`)
	expect(t, "clearing the token", init(`{"timestamp":"2026-01-02T03:04:06Z","envVars":{}}`), "204")
	d.token = ""
	expect(t, "without a token again", d.request("GET", "/envs", nil, nil).body, "{}")
	expect(t, "a body above the limit", strconv.Itoa(d.init(nil, strings.Repeat(" ", 5<<20)).status), "413")
}

func TestAllRoutesExceptTheOpenOnesNeedTheToken(t *testing.T) {
	d := serve(t)
	d.init(nil, `{"accessToken":"secret"}`)
	for _, row := range []struct{ method, path string }{
		{"POST", "/process.Process/Start"}, {"POST", "/filesystem.Filesystem/Stat"}, {"GET", "/envs"}, {"GET", "/metrics"},
		{"POST", "/files/compose"}, {"GET", "/none"}, {"POST", "/health"}, {"GET", "/init"}, {"PUT", "/files"}, {"GET", "/files/"},
		{"GET", "//envs"}, {"POST", "/sandlot/tunnel"},
	} {
		for _, token := range []string{"", "wrong", "secre", "secrets"} {
			d.token = token
			got := d.request(row.method, row.path, header{"Content-Type": "application/json"}, nil)
			expect(t, row.method+" "+row.path+" with '"+token+"'", got.body, `{"code":401,"message":"the header X-Access-Token is missing or wrong"}`)
		}
	}
	d.token = "secret"
	expect(t, "with the token", d.must("process.Process/List", "{}"), "{}")
}

func TestASignedURLAllowsOneOperationOnOneFileUntilItExpires(t *testing.T) {
	d := serve(t)
	d.init(nil, `{"accessToken":"secret"}`)
	path := t.TempDir() + "/some file"
	_ = os.WriteFile(path, []byte("content"), 0o600)
	soon, past := strconv.FormatInt(time.Now().Unix()+600, 10), strconv.FormatInt(time.Now().Unix()-1, 10)
	type row struct {
		name, method string
		signed       files.Signed
		token        string
		query        url.Values
		status       int
	}
	sign := func(name, method string, signed files.Signed, token string, status int) row {
		query := url.Values{"path": {path}, "signature": {files.Signature(signed, token)}}
		if signed.Expiration != "" {
			query.Set("signature_expiration", signed.Expiration)
		}
		if signed.Username != "" {
			query.Set("username", signed.Username)
		}
		return row{name: name, method: method, query: query, status: status}
	}
	read := files.Signed{Path: path, Operation: "read"}
	with := func(change func(*files.Signed)) files.Signed {
		other := read
		change(&other)
		return other
	}
	rows := []row{
		sign("reading", "GET", read, "secret", 200),
		sign("the head", "HEAD", read, "secret", 200),
		sign("as a user", "GET", with(func(s *files.Signed) { s.Username = ownUser(t) }), "secret", 200),
		sign("with an expiration", "GET", with(func(s *files.Signed) { s.Expiration = soon }), "secret", 200),
		sign("after the expiration", "GET", with(func(s *files.Signed) { s.Expiration = past }), "secret", 401),
		sign("with a malformed expiration", "GET", with(func(s *files.Signed) { s.Expiration = "soon" }), "secret", 401),
		sign("another path", "GET", with(func(s *files.Signed) { s.Path = "/etc/passwd" }), "secret", 401),
		sign("with another token", "GET", read, "other", 401),
		sign("writing with a signature to read", "POST", read, "secret", 401),
		sign("reading with one to write", "GET", with(func(s *files.Signed) { s.Operation = "write" }), "secret", 401),
		sign("writing", "POST", with(func(s *files.Signed) { s.Operation = "write" }), "secret", 200),
	}
	later := sign("with a changed expiration", "GET", with(func(s *files.Signed) { s.Expiration = past }), "secret", 401)
	later.query.Set("signature_expiration", soon)
	none := row{name: "without a signature", method: "GET", query: url.Values{"path": {path}}, status: 401}
	for _, row := range append(rows, later, none) {
		var body io.Reader
		h := header{}
		if row.method == http.MethodPost {
			h["Content-Type"], body = "application/octet-stream", strings.NewReader("content")
		}
		got := d.request(row.method, "/files?"+row.query.Encode(), h, body)
		expect(t, row.name, strconv.Itoa(got.status), strconv.Itoa(row.status))
	}
	unescaped := strings.ReplaceAll(rows[0].query.Encode(), "%2B", "+")
	expect(t, "with unescaped plus signs", d.request("GET", "/files?"+unescaped, nil, nil).body, "content")
	wrong := d.request("GET", "/files?"+rows[0].query.Encode(), header{"X-Access-Token": "wrong"}, nil)
	expect(t, "a wrong token beside a good signature", strconv.Itoa(wrong.status), "401")
}

func TestSignatureEqualsThatOfClients(t *testing.T) {
	// The expected value is echo -n '/home/user/a b:read:user:token:1700000000' | sha256sum, in unpadded base64.
	got := files.Signature(files.Signed{Path: "/home/user/a b", Operation: "read", Username: "user", Expiration: "1700000000"}, "token")
	expect(t, "signature", got, "v1_O4Vqr2+KbeTggZUMtPYHp83Usd2MrU/xduHmJUohdE8")
}
