package s3test_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sandlot.dev/node/internal/s3test"
)

// startVariable makes the test's program start the server and wait.
const startVariable = "SANDLOT_TEST_S3"

func TestServerEndsWithTestsThatAreKilled(t *testing.T) {
	if os.Getenv(startVariable) != "" {
		fmt.Println("url", s3test.Start(t))
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestServerEndsWithTestsThatAreKilled$")
	cmd.Env = append(os.Environ(), startVariable+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, isURL := strings.CutPrefix(strings.TrimSpace(line), "url http://")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || !isURL {
		t.Fatalf("it says %q, %v", line, err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		connection.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server runs on")
		}
	}
}
