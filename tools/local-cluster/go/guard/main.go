// Command guard replaces itself by another program that the kernel kills when its parent dies.
//
//	guard PARENT_PID PROGRAM [ARGUMENT...]
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

func main() {
	// The death signal belongs to a thread and survives exec only on the thread that calls it.
	runtime.LockOSThread()
	if len(os.Args) < 3 {
		fail("usage: guard PARENT_PID PROGRAM [ARGUMENT...]")
	}
	parent, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fail("parent pid: %v", err)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0); errno != 0 {
		fail("prctl: %v", errno)
	}
	// The parent may have died before the signal was set; then the kernel never sends it.
	if os.Getppid() != parent {
		os.Exit(1)
	}
	path, err := exec.LookPath(os.Args[2])
	if err != nil {
		fail("%v", err)
	}
	fail("exec %s: %v", path, syscall.Exec(path, os.Args[2:], os.Environ()))
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "guard: "+format+"\n", values...)
	os.Exit(127)
}
