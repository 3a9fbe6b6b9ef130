package e2e

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kubeletInstall runs the installer as PID 1 of a container with the termination log of the kubelet. It returns what the
// kubelet publishes.
func (i image) kubeletInstall() string {
	i.t.Helper()
	binary, err := os.ReadFile(program)
	if err != nil {
		i.t.Fatal(err)
	}
	i.write("sandlot-runtime", string(binary), 0o755)
	i.write("dev/termination-log", "", 0o666)
	c := i.start([]string{"SANDLOT_ENVD_PORT=49983", "SANDLOT_EXEC_PORT=8888"}, "/sandlot-runtime", "install", "/.sandlot")
	expect(i.t, "code of the installer", strconv.Itoa(c.code())+c.said.String(), "0")
	message, err := os.ReadFile(filepath.Join(i.root, "dev/termination-log"))
	if err != nil {
		i.t.Fatal(err)
	}
	return string(message)
}

// dialTLS connects to the daemon's port and returns the hash of the key that it shows.
func (d *daemon) dialTLS() (*tls.Conn, string) {
	d.t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(d.url, "http://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	expect(d.t, "protocol", conn.ConnectionState().NegotiatedProtocol, "http/1.1")
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo)
	return conn, base64.RawURLEncoding.EncodeToString(sum[:])
}

func TestTheInstallerPublishesTheKeyByWhichTheDaemonServesTLS(t *testing.T) {
	i := newImage(t)
	message := i.kubeletInstall()
	const command = `while :; do sleep 0.05; done`
	c := i.start([]string{"SANDLOT_RUNTIME_DIR=/.sandlot"}, installed, "run", "--", "sh", "-c", command)
	c.awaitHealth()
	conn, hash := c.dialTLS()
	expect(t, "published", message, "sandlot-identity:v1:"+hash+":49983,8888")
	_, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "status over TLS", strconv.Itoa(response.StatusCode), "204")
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	restarted := i.start([]string{"SANDLOT_RUNTIME_DIR=/.sandlot"}, installed, "run", "--", "sh", "-c", command)
	restarted.awaitHealth()
	_, after := restarted.dialTLS()
	expect(t, "key after a restart of the container", after, hash)
	if again := i.kubeletInstall(); again == message {
		t.Errorf("the next Pod has the same key: %s", again)
	}
}

func TestTheDaemonDoesNotStartWithABrokenKey(t *testing.T) {
	i := newImage(t)
	i.write(".sandlot/identity.key", "broken", 0o444)
	c := i.start(nil, installed, "serve")
	expect(t, "code", strconv.Itoa(c.code()), "1")
	expect(t, "reason", strconv.FormatBool(strings.Contains(c.said.String(), "identity.key has no key in PEM")), "true")
}

// mountKey puts a key into the image where a Secret volume would be, and returns the variables of the Pod.
func (i image) mountKey() []string {
	i.t.Helper()
	announced := i.kubeletInstall()
	key, err := os.ReadFile(filepath.Join(i.root, ".sandlot/identity.key"))
	if err != nil {
		i.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(i.root, ".sandlot/identity.key")); err != nil {
		i.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(i.root, ".sandlot/identity"), 0o755); err != nil {
		i.t.Fatal(err)
	}
	i.write(".sandlot/identity/identity.key", string(key), 0o444)
	return []string{"SANDLOT_RUNTIME_DIR=/.sandlot", "SANDLOT_IDENTITY_FILE=/.sandlot/identity/identity.key", "SANDLOT_IDENTITY=" + announced}
}

func TestTheDaemonServesTLSByTheKeyThatItsPodMounts(t *testing.T) {
	i := newImage(t)
	env := i.mountKey()
	c := i.start(env, installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	_, hash := c.dialTLS()
	expect(t, "announced", env[2], "SANDLOT_IDENTITY=sandlot-identity:v1:"+hash+":49983,8888")
}

func TestTheDaemonDoesNotStartWithAnotherKeyThanItsPodAnnounces(t *testing.T) {
	i := newImage(t)
	env := i.mountKey()
	other := newImage(t).mountKey()
	for name, wrong := range map[string][]string{
		"another key":     {env[0], env[1], other[2]},
		"no announcement": {env[0], env[1]},
		"no file":         {env[0], env[1] + ".gone", env[2]},
	} {
		c := i.start(wrong, installed, "serve")
		expect(t, "code with "+name, strconv.Itoa(c.code()), "1")
		expect(t, "advice with "+name, strconv.FormatBool(strings.Contains(c.said.String(), "delete the Secret")), "true")
	}
}

func TestTheTunnelWorksOverTLS(t *testing.T) {
	ours, env := install(t)
	c := newImage(t).start(append(env, "SANDLOT_RUNTIME_DIR=/.sandlot"), installed, "run", "--", "sleep", "3600")
	c.awaitHealth()
	const body = `{"accessToken":"token"}`
	c.init(ours.sign(sandboxUID, time.Now().UnixMilli(), body), body)
	conn, _ := c.dialTLS()
	port := startEchoServer(t, "tcp4", "127.0.0.1:0")
	fmt.Fprintf(conn, "GET /sandlot/tunnel?port=%d HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: sandlot-tunnel\r\nX-Sandlot-Proof: %s\r\n\r\n",
		port, ours.prove(sandboxUID, "127.0.0.1", time.Now()))
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "status", strconv.Itoa(response.StatusCode), "101")
	said := strings.Repeat("hello ", 100_000)
	go func() {
		_, _ = io.WriteString(conn, said)
		_ = conn.CloseWrite()
	}()
	heard, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "bytes after the end of the request", strconv.FormatBool(string(heard) == strings.ToUpper(said)), "true")
}
