package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// execDaemon starts a daemon whose agent-sandbox API serves a temporary folder.
func execDaemon(t *testing.T, env ...string) (*daemon, string) {
	t.Helper()
	base := t.TempDir()
	return serve(t, append(env, "SANDBOX_BASE_DIR="+base)...), base
}

func (d *daemon) execute(body string) string {
	d.t.Helper()
	got := d.send(d.execURL, "POST", "/execute", header{"Content-Type": "application/json"}, strings.NewReader(body))
	return strconv.Itoa(got.status) + " " + got.body
}

func TestTheRootOfTheAgentSandboxAPIReportsThatItIsActive(t *testing.T) {
	d, _ := execDaemon(t)
	got := d.send(d.execURL, "GET", "/", nil, nil)
	expect(t, "answer", got.body, `{"status":"ok","message":"Sandbox Runtime is active."}`)
	expect(t, "another route", strconv.Itoa(d.send(d.execURL, "GET", "/none", nil, nil).status), "404")
	expect(t, "another method", strconv.Itoa(d.send(d.execURL, "GET", "/execute", nil, nil).status), "404")
}

func TestExecuteRunsACommandAndReturnsItsOutputAndExitCode(t *testing.T) {
	d, base := execDaemon(t)
	for name, row := range map[string]struct{ body, want string }{
		"by a shell, in the base directory": {`{"command":"pwd | tr a-z A-Z; echo err >&2; exit 3"}`, `200 {"stdout":"` + strings.ToUpper(base) + `\n","stderr":"err\n","exit_code":3}`},
		"killed by a signal":                {`{"command":"kill -9 $$"}`, `200 {"stdout":"","stderr":"","exit_code":-1}`},
		"with output that is not UTF-8":     {`{"command":"printf 'a\\377b'"}`, `200 {"stdout":"a` + "\uFFFD" + `b","stderr":"","exit_code":0}`},
		"beyond its timeout":                {`{"command":"echo begun; sleep 300 & wait","timeout_seconds":0.3}`, `200 {"stdout":"begun\n","stderr":"","exit_code":124,"timed_out":true}`},
		"reading stdin":                     {`{"command":"cat; echo done"}`, `200 {"stdout":"done\n","stderr":"","exit_code":0}`},
		"malformed body":                    {`nope`, `400 {"message":"the body is not the JSON expected: invalid character 'o' in literal null (expecting 'u')"}`},
	} {
		t.Run(name, func(t *testing.T) { expect(t, "outcome", d.execute(row.body), row.want) })
	}
}

func TestExecuteSplitsTheCommandIntoWordsInArgvMode(t *testing.T) {
	d, _ := execDaemon(t, "SANDLOT_EXEC_MODE=argv")
	for name, row := range map[string]struct{ command, want string }{
		"quotes keep words together":  {`printf '%s|' "a b" 'c "d"' e\ f g"h"i ''`, `{"stdout":"a b|c \"d\"|e f|ghi||","stderr":"","exit_code":0}`},
		"nothing expands":             {`echo $HOME * ; true`, `{"stdout":"$HOME * ; true\n","stderr":"","exit_code":0}`},
		"a program that cannot start": {`no-such-command x`, `{"stdout":"","stderr":"cannot start 'no-such-command': executable file not found in $PATH","exit_code":1}`},
		"an unclosed quotation":       {`echo "a`, `{"stdout":"","stderr":"the command has a quotation that is not closed","exit_code":1}`},
		"nothing":                     {` `, `{"stdout":"","stderr":"the command is empty","exit_code":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			body, _ := json.Marshal(map[string]string{"command": row.command})
			expect(t, "outcome", d.execute(string(body)), "200 "+row.want)
		})
	}
}

func TestExecuteTruncatesLargeOutputWithANote(t *testing.T) {
	d, _ := execDaemon(t)
	var got struct{ Stdout string }
	said := d.execute(`{"command":"head -c 20000000 /dev/zero | tr '\\0' x"}`)
	if err := json.Unmarshal([]byte(strings.TrimPrefix(said, "200 ")), &got); err != nil {
		t.Fatal(err)
	}
	kept := 16 << 20
	expect(t, "end of the output", got.Stdout[kept:], fmt.Sprintf("\n[%d more bytes were dropped]\n", 20_000_000-kept))
}

func TestUploadDownloadAndListUsePathsBelowTheBase(t *testing.T) {
	d, base := execDaemon(t)
	upload := func(name string) answer {
		h, body := form(t, part{"file", name, "content of " + name})
		return d.send(d.execURL, "POST", "/upload", h, body)
	}
	for _, name := range []string{"plain.txt", "deep/er/file.txt", "100%25.txt", "a b+c.txt", "ü.txt"} {
		got := upload(name)
		expect(t, "upload of "+name, strconv.Itoa(got.status), "200")
		expect(t, "content of "+name, content(t, base+"/"+name), "content of "+name)
	}
	for path, want := range map[string]string{
		"/download/plain.txt":              "plain.txt",
		"/download/deep/er/file.txt":       "deep/er/file.txt",
		"/download/deep%2Fer%2Ffile.txt":   "deep/er/file.txt",
		"/download/100%2525.txt":           "100%25.txt",
		"/download/a%20b+c.txt?x=/":        "a b+c.txt",
		"/download/%C3%BC.txt":             "ü.txt",
		"/download/deep/../plain.txt":      "plain.txt",
		"/download//plain.txt":             "plain.txt",
		"/download/" + base + "/plain.txt": "plain.txt",
	} {
		got := d.raw(path)
		expect(t, path, strconv.Itoa(got.status)+got.body, "200content of "+want)
		expect(t, "length of "+path, got.header.Get("Content-Length"), strconv.Itoa(len("content of "+want)))
	}
	listed := d.raw("/list/deep").body
	if !regexp.MustCompile(`^\[\{"name":"er","size":\d+,"type":"directory","mod_time":\d+(\.\d+)?\}\]$`).MatchString(listed) {
		t.Errorf("the list is %s", listed)
	}
	for path, want := range map[string]string{
		"/exists/deep%2Fer": `200{"path":"deep/er","exists":true}`,
		"/exists/none":      `200{"path":"none","exists":false}`,
		"/download/none":    `404{"message":"File not found: 'none'"}`,
		"/download/deep":    `404{"message":"File not found: 'deep'"}`,
		"/list/plain.txt":   `404{"message":"Not a directory: 'plain.txt'"}`,
	} {
		got := d.raw(path)
		expect(t, path, strconv.Itoa(got.status)+got.body, want)
	}
	expect(t, "the base itself", strconv.FormatBool(strings.Contains(d.raw("/list/").body, `"name":"plain.txt"`)), "true")
}

func TestPathsOutsideTheBaseAreForbidden(t *testing.T) {
	d, base := execDaemon(t)
	outside := t.TempDir()
	_ = os.WriteFile(outside+"/secret", []byte("secret"), 0o600)
	_ = os.Symlink(outside, base+"/out")
	_ = os.Symlink(outside+"/new", base+"/dangling")
	_ = os.Symlink("circle", base+"/circle")
	_ = os.Mkdir(base+"-beside", 0o755)
	t.Cleanup(func() { _ = os.Remove(base + "-beside") })
	for _, path := range []string{
		"../x", "..%2Fx", "a/../../x", "out/secret", "out%2Fsecret", "out/not-there", "dangling", "dangling/x", "circle", "circle/x",
		"..%2F" + base[strings.LastIndex(base, "/")+1:] + "-beside", "%00", "%2e%2e/x",
	} {
		for _, route := range []string{"/download/", "/list/", "/exists/"} {
			expect(t, route+path, strconv.Itoa(d.raw(route+path).status), "403")
		}
	}
	for _, name := range []string{"../x", "out/x", "dangling"} {
		h, body := form(t, part{"file", name, "x"})
		expect(t, "upload of "+name, strconv.Itoa(d.send(d.execURL, "POST", "/upload", h, body).status), "403")
	}
	left, _ := os.ReadDir(outside)
	expect(t, "files outside the base", strconv.Itoa(len(left)), "1")
	h, body := form(t, part{"other", "x", "x"})
	expect(t, "a form without a file", strconv.Itoa(d.send(d.execURL, "POST", "/upload", h, body).status), "400")
}
