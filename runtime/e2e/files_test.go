package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// part is a part of a form. The filename is written unchanged, so that a test can escape it like a client.
type part struct{ name, filename, content string }

func form(t *testing.T, parts ...part) (header, io.Reader) {
	t.Helper()
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for _, each := range parts {
		disposition := `form-data; name="` + each.name + `"`
		if each.filename != "" {
			disposition += `; filename="` + each.filename + `"`
		}
		w, err := writer.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, each.content)
	}
	_ = writer.Close()
	return header{"Content-Type": writer.FormDataContentType()}, &body
}

func content(t *testing.T, path string) string {
	t.Helper()
	read, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(read)
}

func zip(text string) io.Reader {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = io.WriteString(writer, text)
	_ = writer.Close()
	return &packed
}

func unzip(t *testing.T, packed string) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUploadsWriteToTheRequestedPath(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	home := strings.TrimSpace(d.run("echo $HOME").stdout)
	rows := []struct {
		name, query string
		parts       []part
		want        []string
	}{
		{"one to the path of the query", "?path=" + dir + "/a/b/one.txt", []part{{"file", "ignored.txt", "1"}}, []string{dir + "/a/b/one.txt"}},
		{"several to their full names", "", []part{{"file", dir + "/x/2", "2"}, {"other", "no", "-"}, {"file", dir + "/x/3", "3"}}, []string{dir + "/x/2", dir + "/x/3"}},
		{"one below the home", "", []part{{"file", "sandlot-test/4", "4"}}, []string{home + "/sandlot-test/4"}},
		{"one with an escaped name", "", []part{{"file", dir + `/%22q%22%0A%41`, "5"}}, []string{dir + "/\"q\"\n%41"}},
		{"one with a name beyond ASCII", "", []part{{"file", dir + "/ä€", "6"}}, []string{dir + "/ä€"}},
		{"an empty one", "?path=" + dir + "/empty", []part{{"file", "x", ""}}, []string{dir + "/empty"}},
	}
	t.Cleanup(func() { _ = os.RemoveAll(home + "/sandlot-test") })
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, body := form(t, row.parts...)
			got := d.request("POST", "/files"+row.query, h, body)
			var said []string
			for _, path := range row.want {
				said = append(said, fmt.Sprintf(`{"path":%q,"name":%q,"type":"file"}`, path, filepath.Base(path)))
			}
			expect(t, "answer", got.body, "["+strings.Join(said, ",")+"]")
			written := 0
			for _, each := range row.parts {
				if each.name == "file" {
					expect(t, "content", content(t, row.want[written]), each.content)
					written++
				}
			}
		})
	}
}

func TestAnOctetStreamBodyIsTheFile(t *testing.T) {
	d := serve(t)
	path := t.TempDir() + "/new/raw"
	raw := header{"Content-Type": "application/octet-stream"}
	got := d.request("POST", "/files?path="+path, raw, io.MultiReader(strings.NewReader("chunk "), strings.NewReader("ed")))
	expect(t, "answer", got.body, `[{"path":"`+path+`","name":"raw","type":"file"}]`)
	expect(t, "content", content(t, path), "chunk ed")
	got = d.request("POST", "/files?path="+path, header{"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}, zip("less"))
	expect(t, "content after a shorter gzip upload", strconv.Itoa(got.status)+content(t, path), "200less")
}

func TestAFileIsReplacedInPlace(t *testing.T) {
	d := serve(t)
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, []byte("a longer text"), 0o640); err != nil {
		t.Fatal(err)
	}
	_ = os.Link(path, path+"-link")
	d.request("POST", "/files?path="+path, header{"Content-Type": "application/octet-stream"}, strings.NewReader("new"))
	expect(t, "the hard link", content(t, path+"-link"), "new")
	info, _ := os.Stat(path)
	expect(t, "mode", info.Mode().String(), "-rw-r-----")
}

func TestInvalidUploadsAreRejected(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/plain", nil, 0o600)
	_ = syscall.Mkfifo(dir+"/pipe", 0o600)
	raw := header{"Content-Type": "application/octet-stream"}
	type row struct {
		query  string
		header header
		body   io.Reader
		status int
	}
	twiceHeader, twice := form(t, part{"file", dir + "/t", "1"}, part{"file", dir + "/./t", "2"})
	overHeader, over := form(t, part{"file", "a", "1"}, part{"file", "b", "2"})
	noneHeader, none := form(t, part{"other", "a", "1"})
	namelessHeader, nameless := form(t, part{"file", "", "1"})
	for name, row := range map[string]row{
		"no path":                         {"", raw, strings.NewReader("x"), 400},
		"another content type":            {"?path=" + dir + "/x", header{"Content-Type": "text/plain"}, strings.NewReader("x"), 400},
		"no boundary":                     {"?path=" + dir + "/x", header{"Content-Type": "multipart/form-data"}, strings.NewReader("x"), 400},
		"no form":                         {"?path=" + dir + "/x", header{"Content-Type": "multipart/form-data; boundary=b"}, strings.NewReader("--b\r\n"), 400},
		"the same file twice":             {"", twiceHeader, twice, 400},
		"two files to one path":           {"?path=" + dir + "/x", overHeader, over, 400},
		"no file in the form":             {"", noneHeader, none, 400},
		"a file without a name":           {"", namelessHeader, nameless, 400},
		"a directory":                     {"?path=" + dir, raw, strings.NewReader("x"), 400},
		"a pipe":                          {"?path=" + dir + "/pipe", raw, strings.NewReader("x"), 400},
		"a file as parent":                {"?path=" + dir + "/plain/x", raw, strings.NewReader("x"), 400},
		"a NUL in the path":               {"?path=" + dir + "/%00", raw, strings.NewReader("x"), 400},
		"a name that is too long":         {"?path=" + dir + "/" + strings.Repeat("n", 300), raw, strings.NewReader("x"), 400},
		"another user's home":             {"?path=~root/x", raw, strings.NewReader("x"), 400},
		"an unknown user":                 {"?path=x&username=nobody-here", raw, strings.NewReader("x"), 401},
		"a body that is not gzip":         {"?path=" + dir + "/x", header{"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}, strings.NewReader("x"), 400},
		"an unknown encoding":             {"?path=" + dir + "/x", header{"Content-Type": "application/octet-stream", "Content-Encoding": "br"}, strings.NewReader("x"), 400},
		"a metadata key that is too long": {"?path=" + dir + "/x", header{"Content-Type": "application/octet-stream", "X-Metadata-" + strings.Repeat("k", 247): "v"}, strings.NewReader("x"), 400},
		"too much metadata":               {"?path=" + dir + "/x", header{"Content-Type": "application/octet-stream", "X-Metadata-K": strings.Repeat("v", 4096)}, strings.NewReader("x"), 400},
		"metadata that is not ASCII":      {"?path=" + dir + "/x", header{"Content-Type": "application/octet-stream", "X-Metadata-K": "ä"}, strings.NewReader("x"), 400},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.request("POST", "/files"+row.query, row.header, row.body)
			if got.status != row.status || !strings.HasPrefix(got.body, fmt.Sprintf(`{"code":%d,"message":"`, row.status)) {
				t.Errorf("answered %d %s", got.status, got.body)
			}
		})
	}
}

func TestAFullDiskAnswers507(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("this test mounts a file system and needs root")
	}
	d := serve(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	h, body := form(t, part{"file", dir + "/big", strings.Repeat("x", 200<<10)})
	expect(t, "a form", strconv.Itoa(d.request("POST", "/files", h, body).status), "507")
	raw := header{"Content-Type": "application/octet-stream"}
	expect(t, "a body", strconv.Itoa(d.request("POST", "/files?path="+dir+"/raw", raw, strings.NewReader(strings.Repeat("x", 200<<10))).status), "507")
}

func TestDownloadsSupportRangesConditionsAndGzip(t *testing.T) {
	d := serve(t)
	path := t.TempDir() + "/some file.txt"
	text := strings.Repeat("0123456789", 100)
	_ = os.WriteFile(path, []byte(text), 0o600)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_ = os.Chtimes(path, at, at)
	const changed = "Fri, 02 Jan 2026 03:04:05 GMT"
	url := "/files?path=" + url.QueryEscape(path)
	whole := d.request("GET", url, nil, nil)
	expect(t, "content", whole.body, text)
	for name, want := range map[string]string{
		"Content-Length": "1000", "Vary": "Accept-Encoding", "Last-Modified": changed,
		"Content-Disposition": `inline; filename="some file.txt"`, "Content-Encoding": "",
	} {
		expect(t, name, whole.header.Get(name), want)
	}
	for name, row := range map[string]struct {
		header header
		status int
		body   string
	}{
		"a range":                  {header{"Range": "bytes=5-14"}, 206, "5678901234"},
		"a range despite gzip":     {header{"Range": "bytes=990-", "Accept-Encoding": "gzip"}, 206, "0123456789"},
		"a range outside the file": {header{"Range": "bytes=5000-"}, 416, "invalid range: failed to overlap\n"},
		"an unmodified file":       {header{"If-Modified-Since": changed}, 304, ""},
		"no acceptable encoding":   {header{"Accept-Encoding": "identity;q=0, br"}, 406, `{"code":406,"message":"the file can be sent as it is or with gzip, and Accept-Encoding refuses both"}`},
		"a refused gzip":           {header{"Accept-Encoding": "gzip;q=0, br"}, 200, text},
		"a range without identity": {header{"Accept-Encoding": "*;q=0", "Range": "bytes=0-0"}, 406, `{"code":406,"message":"the file can be sent as it is or with gzip, and Accept-Encoding refuses both"}`},
		"an unknown encoding":      {header{"Accept-Encoding": "zstd"}, 200, text},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.request("GET", url, row.header, nil)
			expect(t, "answer", fmt.Sprintf("%d %s", got.status, got.body), fmt.Sprintf("%d %s", row.status, row.body))
		})
	}
	packed := d.request("GET", url, header{"Accept-Encoding": "gzip, deflate, br"}, nil)
	expect(t, "encoding", packed.header.Get("Content-Encoding"), "gzip")
	expect(t, "decompressed content", unzip(t, packed.body), text)
}

func TestDownloadsOfNonFilesFail(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/plain", nil, 0o600)
	_ = os.Symlink("plain", dir+"/link")
	_ = os.Symlink("loop", dir+"/loop")
	_ = syscall.Mkfifo(dir+"/pipe", 0o600)
	for path, want := range map[string]int{
		dir + "/none": 404, dir: 400, dir + "/pipe": 400, dir + "/plain/x": 404, dir + "/loop": 400, "~root": 400, dir + "/link": 200, "/dev/zero": 400,
	} {
		got := d.request("GET", "/files?path="+url.QueryEscape(path), nil, nil)
		expect(t, path, strconv.Itoa(got.status), strconv.Itoa(want))
	}
	empty := d.request("GET", "/files?path="+dir+"/plain", header{"Accept-Encoding": "gzip"}, nil)
	expect(t, "Content-Length of an empty file", empty.header.Get("Content-Length")+empty.header.Get("Content-Encoding"), "0")
	proc := d.request("GET", "/files?path=/proc/self/status", nil, nil)
	expect(t, "a file in /proc", strconv.FormatBool(strings.Contains(proc.body, "sandlot-runtime")), "true")
}

func TestMetadataStaysWithTheFileUntilTheNextUpload(t *testing.T) {
	d := serve(t)
	path := t.TempDir() + "/file"
	upload := func(h header) string {
		h["Content-Type"] = "application/octet-stream"
		return d.request("POST", "/files?path="+path, h, strings.NewReader("x")).body
	}
	stat := func() string { return d.must("filesystem.Filesystem/Stat", `{"path":"`+path+`"}`) }
	// Uploads succeed even where the file system has no extended attributes.
	stored := syscall.Setxattr(filepath.Dir(path), "user.sandlot", []byte("x"), 0) == nil
	said := upload(header{"X-Metadata-Author": "me", "X-Metadata-KIND": "a b"})
	expect(t, "metadata in the answer", strconv.FormatBool(strings.Contains(said, `"metadata":{"author":"me","kind":"a b"}`)), strconv.FormatBool(stored))
	expect(t, "stored metadata", strconv.FormatBool(strings.Contains(stat(), `"author":"me"`)), strconv.FormatBool(stored))
	upload(header{"X-Metadata-Other": "1"})
	expect(t, "stored metadata of the first upload", strconv.FormatBool(strings.Contains(stat(), `author`)), "false")
	expect(t, "stored metadata of the second upload", strconv.FormatBool(strings.Contains(stat(), `"other":"1"`)), strconv.FormatBool(stored))
	upload(header{})
	expect(t, "stored metadata after an upload without any", strconv.FormatBool(strings.Contains(stat(), `metadata`)), "false")
}

func TestComposeJoinsFilesInOrder(t *testing.T) {
	d := serve(t)
	dir := t.TempDir()
	for _, name := range []string{"1", "2", "3"} {
		_ = os.WriteFile(dir+"/"+name, []byte("part "+name+";"), 0o600)
	}
	_ = syscall.Mkfifo(dir+"/pipe", 0o600)
	compose := func(body string) answer { return d.request("POST", "/files/compose", nil, strings.NewReader(body)) }
	for name, row := range map[string]struct {
		body   string
		status int
	}{
		"no source":                 {`{"source_paths":[],"destination":"` + dir + `/x"}`, 400},
		"no destination":            {`{"source_paths":["` + dir + `/1"]}`, 400},
		"the source as destination": {`{"source_paths":["` + dir + `/1"],"destination":"` + dir + `/./1"}`, 400},
		"a directory":               {`{"source_paths":["` + dir + `"],"destination":"` + dir + `/x"}`, 400},
		"a pipe":                    {`{"source_paths":["` + dir + `/pipe"],"destination":"` + dir + `/x"}`, 400},
		"a missing source":          {`{"source_paths":["` + dir + `/1","` + dir + `/none"],"destination":"` + dir + `/x"}`, 404},
		"an unknown user":           {`{"source_paths":["` + dir + `/1"],"destination":"x","username":"nobody-here"}`, 401},
		"no JSON":                   {`nope`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			got := compose(row.body)
			expect(t, "status", strconv.Itoa(got.status), strconv.Itoa(row.status))
		})
	}
	got := compose(`{"source_paths":["` + dir + `/2","` + dir + `/1","` + dir + `/3"],"destination":"` + dir + `/new/all"}`)
	expect(t, "answer", got.body, `{"path":"`+dir+`/new/all","name":"all","type":"file"}`)
	expect(t, "content", content(t, dir+"/new/all"), "part 2;part 1;part 3;")
	left, _ := filepath.Glob(dir + "/[0-9]")
	expect(t, "sources left", strings.Join(left, " "), "")
}

func TestAnInterruptedUploadFails(t *testing.T) {
	d := serve(t)
	path := t.TempDir() + "/torn"
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("the beginning"))
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	}()
	s, err := plainTransport.RoundTrip(d.newRequest("POST", "/files?path="+path, header{"Content-Type": "application/octet-stream"}, reader))
	if err == nil {
		_ = s.Body.Close()
		t.Errorf("answered %d", s.StatusCode)
	}
	expect(t, "health", strconv.FormatBool(healthy(d.url)), "true")
}
