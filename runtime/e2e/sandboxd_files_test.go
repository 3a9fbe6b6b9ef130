package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestFilesOfSandboxdAreWrittenReadListedAndRemoved(t *testing.T) {
	d, base := sandboxdDaemon(t)
	for target, name := range map[string]string{
		"/v1/files/plain.txt": "plain.txt", "/v1/files/deep%2Fer%2Ffile.txt": "deep/er/file.txt", "/v1/files/deep/er/other.txt": "deep/er/other.txt",
		"/v1/files/100%2525.txt": "100%25.txt", "/v1/files/a%20b+c.txt": "a b+c.txt", "/v1/files/" + base + "/absolute.txt": "absolute.txt",
	} {
		expect(t, "PUT "+target, d.file("PUT", target, "content of "+name), "204")
		expect(t, "content of "+name, content(t, filepath.Join(base, name)), "content of "+name)
		expect(t, "GET "+target, d.file("GET", target, ""), "200 content of "+name)
		expect(t, "HEAD "+target, d.file("HEAD", target, ""), "200")
	}
	listed := d.file("GET", "/v1/files/deep", "")
	if !regexp.MustCompile(`^200 \{"path":"/deep","entries":\[\{"name":"er","size":\d+,"type":"directory","modified_at":"\d{4}-[\d-]+T[\d:.]+Z","mode":"0755"\}\]\}$`).MatchString(listed) {
		t.Errorf("the list is %s", listed)
	}
	_ = os.Mkdir(base+"/empty", 0o755)
	expect(t, "an empty list", d.file("GET", "/v1/files/empty", ""), `200 {"path":"/empty","entries":[]}`)
	for _, row := range [][3]string{
		{"DELETE", "/v1/files/plain.txt", "204"},
		{"DELETE", "/v1/files/plain.txt", `404 {"code":"NOT_FOUND","message":"'plain.txt' does not exist"}`},
		{"DELETE", "/v1/files/plain.txt?recursive=true", `404 {"code":"NOT_FOUND","message":"'plain.txt' does not exist"}`},
		{"DELETE", "/v1/files/empty", "204"},
		{"DELETE", "/v1/files/deep", `409 {"code":"CONFLICT","message":"the directory is not empty; recursive=true removes it with its contents"}`},
		{"DELETE", "/v1/files/deep?recursive=perhaps", `400 {"code":"INVALID_ARGUMENT","message":"'recursive' must be true or false"}`},
		{"DELETE", "/v1/files/deep?recursive=true", "204"},
		{"DELETE", "/v1/files/", `409 {"code":"CONFLICT","message":"the directory is not empty; recursive=true removes it with its contents"}`},
		{"DELETE", "/v1/files/?recursive=true", "204"},
		{"GET", "/v1/files/", `200 {"path":"/","entries":[]}`},
		{"GET", "/v1/files/none", `404 {"code":"NOT_FOUND","message":"'none' does not exist"}`},
		{"HEAD", "/v1/files/none", "404"},
		{"POST", "/v1/files/x", `405 {"code":"INVALID_ARGUMENT","message":"POST is not allowed here"}`},
		{"GET", "/v2/files/x", `404 {"code":"NOT_FOUND","message":"no such route"}`},
		{"GET", "/v1/files/%zz", "400 400 Bad Request"},
	} {
		expect(t, row[0]+" "+row[1], d.file(row[0], row[1], ""), row[2])
	}
}

func TestAFileOfSandboxdGetsItsModeAndReplacesTheFormerOneAtOnce(t *testing.T) {
	d, base := sandboxdDaemon(t)
	mode := func() string {
		info, err := os.Lstat(base + "/x")
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().String()
	}
	expect(t, "PUT", d.file("PUT", "/v1/files/x", "one"), "204")
	expect(t, "usual mode", mode(), "-rw-r--r--")
	reader, err := os.Open(base + "/x")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	expect(t, "PUT", d.file("PUT", "/v1/files/x?mode=0750", "two"), "204")
	expect(t, "mode", mode(), "-rwxr-x---")
	old, _ := io.ReadAll(reader)
	expect(t, "what a reader of the former file sees", string(old), "one")
	for _, wrong := range []string{"750", "0888", "04755", "-1", "0x1", "000750"} {
		expect(t, wrong, d.file("PUT", "/v1/files/x?mode="+wrong, "three"), `400 {"code":"INVALID_ARGUMENT","message":"'mode' must be a zero and three octal digits, such as 0644"}`)
	}
	_ = os.Mkdir(base+"/dir", 0o755)
	expect(t, "a directory", d.file("PUT", "/v1/files/dir", "x"), `400 {"code":"INVALID_ARGUMENT","message":"'dir' is a directory"}`)
	expect(t, "below a file", d.file("PUT", "/v1/files/x/y", "x")[:4], "400 ")
	expect(t, "a name that is too long", d.file("PUT", "/v1/files/"+strings.Repeat("n", 300), "x")[:4], "400 ")
	_ = syscall.Mkfifo(base+"/pipe", 0o600)
	expect(t, "a pipe", d.file("GET", "/v1/files/pipe", "")[:4], "400 ")
	expect(t, "content", content(t, base+"/x"), "two")
}

func TestAnUploadThatBreaksOffChangesNothing(t *testing.T) {
	d, base := sandboxdDaemon(t)
	_ = os.WriteFile(base+"/x", []byte("whole"), 0o600)
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.filesURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "PUT /v1/files/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("p", 100_000))
	eventually(t, "the upload has begun", func() bool { return count(t, base) == 2 })
	expect(t, "meanwhile", d.file("GET", "/v1/files/x", ""), "200 whole")
	_ = conn.Close()
	eventually(t, "nothing is left of the upload", func() bool { return count(t, base) == 1 })
	expect(t, "content", content(t, base+"/x"), "whole")
	const boundary = "Content-Type: multipart/form-data; boundary=b\r\n"
	for name, row := range map[string][2]string{
		"no boundary": {"Content-Type: multipart/form-data\r\n", "x"},
		"no file":     {boundary, "--b\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--b--\r\n"},
		"half a file": {boundary, "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf"},
		"no form":     {boundary, ""},
	} {
		head := fmt.Sprintf("PUT /v1/files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n", len(row[1]), row[0])
		got := d.exchange(head+row[1], "PUT")
		if !strings.HasPrefix(got, "400 ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	const chunked = "PUT /v1/files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
	expect(t, "bad chunks", d.exchange(chunked+"4\r\nhalf\r\nzz\r\n", "PUT")[:4], "400 ")
	expect(t, "entries", fmt.Sprint(count(t, base)), "1")
	expect(t, "content", content(t, base+"/x"), "whole")
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAFormAndARangeWorkWithFilesOfSandboxd(t *testing.T) {
	d, base := sandboxdDaemon(t)
	h, body := form(t, part{"file", "ignored", "in a form"})
	sent, _ := io.ReadAll(body)
	head := fmt.Sprintf("PUT /v1/files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", h["Content-Type"], len(sent))
	expect(t, "PUT", d.exchange(head+string(sent), "PUT"), "204")
	expect(t, "content", content(t, base+"/x"), "in a form")
	const get = "GET /v1/files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: "
	expect(t, "a range", d.exchange(get+"bytes=3-3\r\n\r\n", "GET"), "206 a")
	expect(t, "a range beyond the end", d.exchange(get+"bytes=99-\r\n\r\n", "GET")[:3], "416")
	expect(t, "too many ranges", d.exchange(get+"bytes="+strings.Repeat("0-8,", 2000)+"0-8\r\n\r\n", "GET"), "200 in a form")
}

func TestFilesOfSandboxdOutsideTheBaseAreForbidden(t *testing.T) {
	d, base := sandboxdDaemon(t)
	outside := t.TempDir()
	_ = os.WriteFile(outside+"/secret", []byte("secret"), 0o600)
	_ = os.Symlink(outside, base+"/out")
	_ = os.Symlink(outside+"/secret", base+"/secret")
	_ = os.Symlink(outside+"/new", base+"/dangling")
	_ = os.Symlink("circle", base+"/circle")
	for _, path := range []string{
		"..", "../x", "..%2Fx", "%2E%2E", "%2e%2e/x", "%2E%2E%2Fx", "a/../../x", "out/secret", "out%2Fsecret", "out/not-there", "dangling/x", "circle/x", "%00", "x%00",
	} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
			expect(t, method+" "+path, d.file(method, "/v1/files/"+path, "x")[:3], "403")
		}
	}
	for _, path := range []string{"out", "secret", "dangling", "circle"} {
		expect(t, "GET "+path, d.file("GET", "/v1/files/"+path, "")[:3], "403")
	}
	expect(t, "PUT in the place of a link", d.file("PUT", "/v1/files/secret", "own"), "204")
	expect(t, "what a link names", content(t, outside+"/secret"), "secret")
	expect(t, "what is in its place", d.file("GET", "/v1/files/secret", ""), "200 own")
	for _, path := range []string{"dangling", "circle", "out?recursive=true"} {
		expect(t, "DELETE "+path, d.file("DELETE", "/v1/files/"+path, ""), "204")
	}
	expect(t, "files outside the base", fmt.Sprint(count(t, outside)), "1")
}

func TestLinksLendNoRightsToClientsOfSandboxd(t *testing.T) {
	p := lockUp(t, sandboxdPorts(t))
	for _, row := range []string{
		"GET home/file", "GET home/dir/secret", "GET home/closed", "GET home/closed-file", "GET home/closed/" + secretName,
		"PUT home/dir/new", "PUT home/closed/new", "DELETE home/dir/secret", "DELETE home/closed/" + secretName, "DELETE home/dir/secret?recursive=true",
		"DELETE home/closed/deep?recursive=true",
	} {
		method, path, _ := strings.Cut(row, " ")
		got := p.d.file(method, "/v1/files/"+path, "x")
		if !strings.HasPrefix(got, "403 ") && !strings.HasPrefix(got, "404 ") || strings.Contains(got, secret) {
			t.Errorf("%s: %s", row, got)
		}
	}
	if listed := p.d.file("GET", "/v1/files/home", ""); strings.Contains(listed, `"name":"closed-file"`) {
		t.Errorf("the list tells of what the user may not see: %s", listed)
	}
	for _, each := range append(p.hidden(), p.root+"/secret") {
		expect(t, each, content(t, each), secret)
	}
	expect(t, "PUT", p.d.file("PUT", "/v1/files/home/made/new", "x"), "204")
	info, err := os.Stat(p.home + "/made/new")
	if err != nil {
		t.Fatal(err)
	}
	nobody := nobodyUser(t)
	expect(t, "owner", fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid), fmt.Sprint(nobody.UID))
}

func TestMetadataOfSandboxdIsOfTheSandboxAndHasNoSecret(t *testing.T) {
	d, base := sandboxdDaemon(t, "SANDBOX_COLOUR=blue", "SANDBOX_API_KEY=no", "SANDBOX_Token=no", "OTHER=no")
	d.init(nil, `{"envVars":{"SANDBOX_TEAM":"a","SANDBOX_PASSWORD":"no","TEAM":"no"}}`)
	expect(t, "metadata", d.file("GET", "/v1/metadata", ""), `200 {"env":{"SANDBOX_BASE_DIR":"`+base+`","SANDBOX_COLOUR":"blue","SANDBOX_TEAM":"a"}}`)
	if health := d.file("GET", "/v1/health", ""); !regexp.MustCompile(`^200 \{"status":"ok","uptime_seconds":\d+\}$`).MatchString(health) {
		t.Error(health)
	}
}
