package config

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func read(env ...string) (Config, error) {
	set := map[string]string{}
	for _, each := range env {
		name, value, _ := strings.Cut(each, "=")
		set[name] = value
	}
	return Read(func(name string) string { return set[name] })
}

var key = base64.StdEncoding.EncodeToString(make([]byte, 32))

func TestReadHasDefaults(t *testing.T) {
	c, err := read("SANDLOT_RUNTIME_DIR=/d", "SANDLOT_RUNTIME_UNPROTECTED=true")
	if got := fmt.Sprint(c, err); got != "{/d [] []     49983 8888 {0 0}  false   { 5m0s false} /run/e2b  false} <nil>" {
		t.Errorf("got %s", got)
	}
}

func TestReadTakesEveryVariable(t *testing.T) {
	c, err := read("SANDLOT_RUNTIME_PUBLIC_KEY="+key+","+key+","+key, "SANDLOT_GATEWAY_PUBLIC_KEYS="+key+", "+key, "SANDLOT_SANDBOX_UID=uid", "SANDLOT_RUNTIME_DIR=/d", "SANDLOT_ENVD_PORT=1", "SANDLOT_EXEC_PORT=0", "SANDLOT_SANDBOXD_PORTS=2,3", "SANDLOT_EXEC_OPEN=true",
		"SANDLOT_IDENTITY_FILE=/k", "SANDLOT_IDENTITY=v1", "SANDLOT_DEFAULT_USER=me", "SANDLOT_WORKDIR=/w", "SANDBOX_BASE_DIR=/b", "SANDBOX_EXEC_TIMEOUT_SECONDS=7", "SANDLOT_EXEC_MODE=argv", "SANDLOT_EGRESS_CA=pem", "SANDLOT_MARKS_DIR=/m", "SANDLOT_RECORDS=log")
	if got := fmt.Sprintln(len(c.PublicKeys), len(c.GatewayKeys), c.SandboxUID, c.IdentityFile, c.Identity, c.EnvdPort, c.ExecPort, c.ExecAccess, c.DefaultUser, c.Workdir, c.Exec, c.EgressCA, c.MarksDir, c.RecordsInLog, err); got != "3 2 uid /k v1 1 0 true me /w {/b 7s true} pem /m true <nil>\n" {
		t.Errorf("got %s", got)
	}
}

func TestReadRejectsInvalidValuesByName(t *testing.T) {
	for _, row := range []string{
		"SANDLOT_ENVD_PORT=0", "SANDLOT_ENVD_PORT=65536", "SANDLOT_ENVD_PORT=x", "SANDLOT_EXEC_PORT=-1", "SANDLOT_RECORDS=store", "SANDBOX_EXEC_TIMEOUT_SECONDS=0",
		"SANDLOT_RUNTIME_PUBLIC_KEY=%", "SANDLOT_RUNTIME_PUBLIC_KEY=eA==", "SANDLOT_GATEWAY_PUBLIC_KEYS=" + key + ",eA==",
	} {
		name, _, _ := strings.Cut(row, "=")
		if _, err := read(row); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", row, err)
		}
	}
	if _, err := read("SANDLOT_RUNTIME_PUBLIC_KEY=" + key); err == nil || !strings.Contains(err.Error(), "SANDLOT_SANDBOX_UID") {
		t.Errorf("a key without a sandbox: %v", err)
	}
}

func TestReadRefusesADaemonThatEveryCallerCouldTakeOver(t *testing.T) {
	for _, env := range [][]string{
		nil, {"SANDLOT_SANDBOX_UID=uid"}, {"SANDLOT_RUNTIME_UNPROTECTED=false"}, {"SANDLOT_RUNTIME_UNPROTECTED=1"},
	} {
		if _, err := read(env...); err == nil || !strings.Contains(err.Error(), "SANDLOT_RUNTIME_PUBLIC_KEY is empty") {
			t.Errorf("%v: %v", env, err)
		}
	}
	both := []string{"SANDLOT_RUNTIME_PUBLIC_KEY=" + key, "SANDLOT_SANDBOX_UID=uid", "SANDLOT_RUNTIME_UNPROTECTED=true"}
	if _, err := read(both...); err == nil || !strings.Contains(err.Error(), "SANDLOT_RUNTIME_UNPROTECTED is true") {
		t.Errorf("a key and no protection: %v", err)
	}
}

func TestPortsAreThoseThatTheEnvironmentOfTheInstallerNames(t *testing.T) {
	for env, want := range map[string]string{
		"":                                 "[49983] <nil>",
		"SANDLOT_EXEC_PORT=0":              "[49983] <nil>",
		"SANDLOT_EXEC_PORT=8888":           "[49983 8888] <nil>",
		"SANDLOT_ENVD_PORT=1":              "[1] <nil>",
		"SANDLOT_SANDBOXD_PORTS=8080,9090": "[49983 8080 9090] <nil>",
		"SANDLOT_EXEC_PORT=x":              `[49983] SANDLOT_EXEC_PORT is "x": it must be a whole number from 0 to 65535`,
	} {
		name, value, _ := strings.Cut(env, "=")
		ports, err := Ports(func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		if got := fmt.Sprint(ports, " ", err); got != want {
			t.Errorf("%s: got %s", env, got)
		}
	}
}

func TestThePortsOfSandboxdAreClosedUnlessTheEnvironmentNamesBoth(t *testing.T) {
	for text, want := range map[string]string{
		"": "{0 0} <nil>", "0": "{0 0} <nil>", "8080,9090": "{8080 9090} <nil>",
		"8080": "refused", "8080,": "refused", ",9090": "refused", "0,9090": "refused", "8080,8080": "refused", "1,2,3": "refused", "-1,2": "refused", "65536,1": "refused", "true": "refused",
	} {
		c, err := read("SANDLOT_RUNTIME_PUBLIC_KEY="+key, "SANDLOT_SANDBOX_UID=a", "SANDLOT_SANDBOXD_PORTS="+text)
		got := fmt.Sprint(c.Sandboxd, " ", err)
		if err != nil && strings.Contains(err.Error(), "SANDLOT_SANDBOXD_PORTS is ") {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

func TestARestoredDaemonKeepsWhatBelongsToTheImageAndReadsWhatBelongsToThePod(t *testing.T) {
	before, err := read("SANDLOT_RUNTIME_PUBLIC_KEY="+key, "SANDLOT_SANDBOX_UID=a", "SANDLOT_POD_UID=1", "SANDLOT_RUNTIME_DIR=/d", "SANDLOT_ENVD_PORT=1",
		"SANDLOT_EXEC_PORT=0", "SANDLOT_SANDBOXD_PORTS=2,3", "SANDLOT_EXEC_OPEN=true", "SANDLOT_DEFAULT_USER=me", "SANDLOT_WORKDIR=/w", "SANDBOX_BASE_DIR=/b")
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	after, err := before.ReadAgain(getenv(map[string]string{"SANDLOT_RUNTIME_PUBLIC_KEY": key, "SANDLOT_SANDBOX_UID": "b", "SANDLOT_POD_UID": "2"}))
	if got := fmt.Sprint(after.SandboxUID, after.PodUID, " ", after.ExecAccess, after.Dir, after.EnvdPort, after.ExecPort, after.Sandboxd, after.DefaultUser, after.Workdir, after.Exec.BaseDir, err); got != "b2 /d1 0 {2 3}me/w/b<nil>" {
		t.Errorf("got %s", got)
	}
	closed, err := before.ReadAgain(getenv(nil))
	if err == nil || len(closed.PublicKeys) != 1 || closed.PublicKeys[0].Equal(before.PublicKeys[0]) || closed.SandboxUID != "" || closed.ExecAccess != "" || closed.EnvdPort != 1 {
		t.Errorf("a Pod without a key for the daemon does not close it: %v %+v", err, closed)
	}
}
