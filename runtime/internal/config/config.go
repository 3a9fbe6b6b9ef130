// Package config reads the environment of the daemon.
package config

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/marks"
)

// Version is the version of E2B's daemon that this one is compatible with (docs/reference/runtime.md#versions).
// Clients enable features by it.
const Version = "0.6.4"

// DefaultDir is the folder of the injected daemon if SANDLOT_RUNTIME_DIR is not set.
const DefaultDir = "/.sandlot"

// DefaultPort is that of the daemon if SANDLOT_ENVD_PORT is not set.
const DefaultPort = 49983

// EgressCAVariable names the variable with the authority of the egress proxy.
const EgressCAVariable = "SANDLOT_EGRESS_CA"

// Config is the environment of the daemon.
type Config struct {
	// Dir holds the binary and the state; empty: the state is kept in memory only.
	Dir string
	// PublicKeys verify /init, each on its own: a rotation adds one. None means debug mode, in which the first caller may set
	// the token. Read returns none only if the environment asks for debug mode.
	PublicKeys []ed25519.PublicKey
	// GatewayKeys verify the gateway's proofs. Without them, the daemon recognises no gateway.
	GatewayKeys []ed25519.PublicKey
	SandboxUID  string
	// PodUID distinguishes the Pods of one Sandbox; empty: the Pod does not name itself.
	PodUID string
	// IdentityFile has the key of the sandbox, which Identity announces; empty: the key is beside the program, if there is one.
	IdentityFile string
	Identity     string
	EnvdPort     int
	// ExecPort is the port of the agent-sandbox API; 0 turns the API off.
	ExecPort int
	// Sandboxd are the ports of the dialect of sandboxd.
	Sandboxd SandboxdPorts
	// ExecAccess says who may use the agent-sandbox API before /init. It counts for sandboxes that are never initialised.
	ExecAccess ExecAccess
	// ExecProof says that nothing else guards the agent-sandbox API: it asks for the proof of the gateway after /init, too.
	ExecProof   bool
	DefaultUser string
	Workdir     string
	Exec        Exec
	// MarksDir is the folder with the files that name the sandbox.
	MarksDir string
	// EgressCA is the authority of the egress proxy, in PEM; empty: there is none.
	EgressCA string
	// RecordsInLog says that what processes do and print goes to the log of the container, in place of the memory of the daemon.
	RecordsInLog bool
}

// ExecAccess is a value of SANDLOT_EXEC_OPEN.
type ExecAccess string

const (
	// ExecByGateway admits the gateway, and callers inside the Pod. Daemons of earlier releases read it as closed.
	ExecByGateway ExecAccess = "gateway"
	// ExecByAll admits every caller that reaches the port. Every other value than these two admits no caller.
	ExecByAll ExecAccess = "true"
)

// SandboxdPorts are those of the dialect of sandboxd. Without it both are 0: they are popular with programs of tenants.
type SandboxdPorts struct {
	// Files serves files over HTTP.
	Files int
	// Processes serves processes over gRPC.
	Processes int
}

// Exec configures the agent-sandbox API.
type Exec struct {
	// BaseDir is the root of its paths; empty: /app if it exists, else the working directory.
	BaseDir string
	Timeout time.Duration
	// Argv splits commands into words instead of running them in a shell.
	Argv bool
}

// Read reads the configuration through getenv. An error names the variable and the expected value.
func Read(getenv func(string) string) (Config, error) {
	c := Config{
		SandboxUID:   getenv("SANDLOT_SANDBOX_UID"),
		PodUID:       getenv("SANDLOT_POD_UID"),
		IdentityFile: getenv("SANDLOT_IDENTITY_FILE"),
		Identity:     getenv("SANDLOT_IDENTITY"),
		DefaultUser:  getenv("SANDLOT_DEFAULT_USER"),
		Workdir:      getenv("SANDLOT_WORKDIR"),
		Dir:          Dir(getenv),
		MarksDir:     cmp.Or(getenv("SANDLOT_MARKS_DIR"), marks.DefaultDir),
		EgressCA:     getenv(EgressCAVariable),
		ExecAccess:   ExecAccess(getenv("SANDLOT_EXEC_OPEN")),
		ExecProof:    getenv("SANDLOT_EXEC_PROOF") == "true",
		Exec:         Exec{BaseDir: getenv("SANDBOX_BASE_DIR"), Argv: getenv("SANDLOT_EXEC_MODE") == "argv"},
	}
	var err error
	if c.RecordsInLog, err = recordsInLog(getenv); err != nil {
		return Config{}, err
	}
	if c.EnvdPort, err = number(getenv, "SANDLOT_ENVD_PORT", bounds{DefaultPort, 1, 65535}); err != nil {
		return Config{}, err
	}
	if c.ExecPort, err = number(getenv, "SANDLOT_EXEC_PORT", bounds{8888, 0, 65535}); err != nil {
		return Config{}, err
	}
	if c.Sandboxd, err = sandboxdPorts(getenv); err != nil {
		return Config{}, err
	}
	seconds, err := number(getenv, "SANDBOX_EXEC_TIMEOUT_SECONDS", bounds{300, 1, 7 * 24 * 3600})
	if err != nil {
		return Config{}, err
	}
	c.Exec.Timeout = time.Duration(seconds) * time.Second
	if c.PublicKeys, err = publicKeys("SANDLOT_RUNTIME_PUBLIC_KEY", getenv("SANDLOT_RUNTIME_PUBLIC_KEY")); err != nil {
		return c, err
	}
	if c.GatewayKeys, err = publicKeys("SANDLOT_GATEWAY_PUBLIC_KEYS", getenv("SANDLOT_GATEWAY_PUBLIC_KEYS")); err != nil {
		return c, err
	}
	return c, checkProtection(c, getenv("SANDLOT_RUNTIME_UNPROTECTED") == "true")
}

// Dir returns the folder of the daemon; empty: it has none.
func Dir(getenv func(string) string) string {
	dir := getenv("SANDLOT_RUNTIME_DIR")
	if info, err := os.Stat(DefaultDir); dir == "" && err == nil && info.IsDir() {
		return DefaultDir
	}
	return dir
}

// ReadAgain reads the configuration of the Pod into which the daemon was restored. The ports, the folder and the settings
// of the image stay as they are. With an error the result is a configuration that lets no caller in.
func (c Config) ReadAgain(getenv func(string) string) (Config, error) {
	now, err := Read(getenv)
	if err != nil {
		// There is no secret key, so no /init is accepted.
		unusable, _, unlucky := ed25519.GenerateKey(nil)
		now = Config{PublicKeys: []ed25519.PublicKey{unusable}}
		err = errors.Join(err, unlucky)
	}
	now.Dir, now.EnvdPort, now.ExecPort, now.Sandboxd = c.Dir, c.EnvdPort, c.ExecPort, c.Sandboxd
	now.MarksDir, now.DefaultUser, now.Workdir, now.Exec = c.MarksDir, c.DefaultUser, c.Workdir, c.Exec
	return now, err
}

// Ports returns the ports that a daemon with this environment serves. An installer has no daemon's environment, so the
// agent-sandbox API counts only if its port is named.
func Ports(getenv func(string) string) ([]int, error) {
	envd, err := number(getenv, "SANDLOT_ENVD_PORT", bounds{DefaultPort, 1, 65535})
	if err != nil {
		return nil, err
	}
	exec, err := number(getenv, "SANDLOT_EXEC_PORT", bounds{0, 0, 65535})
	if err != nil {
		return []int{envd}, err
	}
	sandboxd, err := sandboxdPorts(getenv)
	if err != nil {
		return []int{envd}, err
	}
	served := []int{envd, exec, sandboxd.Files, sandboxd.Processes}
	return slices.DeleteFunc(served, func(port int) bool { return port == 0 }), nil
}

// checkProtection refuses a daemon that would serve every caller because its key was forgotten.
func checkProtection(c Config, unprotected bool) error {
	switch {
	case len(c.PublicKeys) == 0 && !unprotected:
		return fmt.Errorf("SANDLOT_RUNTIME_PUBLIC_KEY is empty: it must be the key of the installation; on a developer's machine, set SANDLOT_RUNTIME_UNPROTECTED=true to let every caller in")
	case len(c.PublicKeys) > 0 && unprotected:
		return fmt.Errorf("SANDLOT_RUNTIME_UNPROTECTED is true: with SANDLOT_RUNTIME_PUBLIC_KEY it must be unset")
	case len(c.PublicKeys) > 0 && c.SandboxUID == "":
		return fmt.Errorf("SANDLOT_SANDBOX_UID is empty: with SANDLOT_RUNTIME_PUBLIC_KEY it must name the sandbox")
	}
	return nil
}

func recordsInLog(getenv func(string) string) (bool, error) {
	const name = "SANDLOT_RECORDS"
	switch value := getenv(name); value {
	case "", "memory":
		return false, nil
	case "log":
		return true, nil
	default:
		return false, fmt.Errorf("%s is %q: it must be memory or log", name, value)
	}
}

type bounds struct{ otherwise, least, most int }

func number(getenv func(string) string, name string, in bounds) (int, error) {
	text := getenv(name)
	if text == "" {
		return in.otherwise, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < in.least || value > in.most {
		return 0, fmt.Errorf("%s is %q: it must be a whole number from %d to %d", name, text, in.least, in.most)
	}
	return value, nil
}

// sandboxdPorts reads two ports, that of files first. Nothing and 0 turn the dialect off.
func sandboxdPorts(getenv func(string) string) (SandboxdPorts, error) {
	const name = "SANDLOT_SANDBOXD_PORTS"
	text := getenv(name)
	if text == "" || text == "0" {
		return SandboxdPorts{}, nil
	}
	first, second, _ := strings.Cut(text, ",")
	files, errFiles := strconv.ParseUint(first, 10, 16)
	processes, errProcesses := strconv.ParseUint(second, 10, 16)
	if errFiles != nil || errProcesses != nil || files == 0 || processes == 0 || files == processes {
		return SandboxdPorts{}, fmt.Errorf("%s is %q: it must be 0, or two ports with a comma between them such as 8080,9090", name, text)
	}
	return SandboxdPorts{Files: int(files), Processes: int(processes)}, nil
}

func publicKey(name, text string) (ed25519.PublicKey, error) {
	if text == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%s must be the base64 of the %d bytes of an Ed25519 key", name, ed25519.PublicKeySize)
	}
	return ed25519.PublicKey(key), nil
}

// publicKeys reads keys that commas separate.
func publicKeys(name, text string) ([]ed25519.PublicKey, error) {
	keys := []ed25519.PublicKey{}
	for each := range strings.SplitSeq(text, ",") {
		key, err := publicKey(name, strings.TrimSpace(each))
		if err != nil {
			return nil, err
		}
		if key != nil {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
