package pod

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

func TestAProcessThatEndsWhileItIsReadHasEnded(t *testing.T) {
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_ = command.Process.Kill()
	_ = command.Wait()
	if _, err := io.ReadAll(file); !isEnded(err) {
		t.Errorf("the read failed with %v", err)
	}
	if err := checkSandbox(command.Process.Pid, "pause-1"); err != nil {
		t.Errorf("a process that has ended is %v", err)
	}
}
