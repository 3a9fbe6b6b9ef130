// Package s3test runs a real S3 server on a folder, for tests.
package s3test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sandlot.dev/node/internal/porttest"
)

// The credentials of the server, its region, and its only bucket.
const (
	AccessKey = "access"
	SecretKey = "secret"
	Region    = "us-east-1"
	Bucket    = "snapshots"
)

const patience = 30 * time.Second

// server is the same for all tests of a package.
var server struct {
	sync.Once
	cmd         *exec.Cmd
	folder, url string
}

// Start returns the URL of the server. Go builds it once and caches it; its module is its own, so that the agent has nothing of
// it. The tests run two folders below the module of the agent.
func Start(t *testing.T) string {
	t.Helper()
	server.Do(func() { start(t) })
	if server.url == "" {
		t.Fatal("there is no S3 server")
	}
	return server.url
}

func start(t *testing.T) {
	t.Helper()
	tool := exec.Command("go", "tool", "-n", "versitygw")
	tool.Dir = filepath.Join("..", "..", "s3server")
	tool.Stderr = os.Stderr
	program, err := tool.Output()
	if err != nil {
		t.Fatalf("the S3 server cannot be built: %v", err)
	}
	if server.folder, err = os.MkdirTemp("", "s3server"); err != nil {
		t.Fatal(err)
	}
	address := porttest.FreeAddress(t)
	server.cmd = exec.Command(strings.TrimSpace(string(program)), "--port", address, "--quiet", "posix", server.folder)
	server.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	// It ends with the tests, also with killed ones. The thread that starts it must live as long.
	server.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startOnLastingThread(server.cmd); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); !isListening(address); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the S3 server does not listen")
		}
	}
	url := "http://" + address
	if _, err := Client(url).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(Bucket)}); err != nil {
		t.Fatal(err)
	}
	server.url = url
}

// startOnLastingThread starts a program from a thread that Go never ends: Linux takes the end of the thread for that of the
// parent.
func startOnLastingThread(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		select {}
	}()
	return <-started
}

// Stop ends the server. TestMain calls it after the tests.
func Stop() {
	if server.cmd != nil && server.cmd.Process != nil {
		_ = server.cmd.Process.Kill()
		_ = server.cmd.Wait()
	}
	if server.folder != "" {
		_ = os.RemoveAll(server.folder)
	}
}

// Client is one with all rights.
func Client(url string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &url, Region: Region, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}, nil
		}),
	})
}

func isListening(address string) bool {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}
