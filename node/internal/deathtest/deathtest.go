// Package deathtest stops a program before each system call that changes files, one run for each, for tests.
package deathtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// Trial is one run of a program.
type Trial struct {
	Command *exec.Cmd
	// Interrupt runs while the program stands still before the call; nil: the program is killed there. With it, calls that open
	// files count too: what they find may change.
	Interrupt func()
	// Judge sees what is left, after the end of the program. Step names the call. Err is that of the program; killed programs
	// have none.
	Judge func(step string, err error)
}

// AtEveryStep makes trials until a program ends before it comes to the next call. It returns how many there were.
func AtEveryStep(t *testing.T, try func() Trial) int {
	t.Helper()
	for steps := 0; ; steps++ {
		trial := try()
		call, err := run(t, trial, steps)
		if call == "" {
			if err != nil {
				t.Fatalf("the program fails by itself: %v", err)
			}
			return steps
		}
		trial.Judge(fmt.Sprintf("call %d, %s", steps, call), err)
	}
}

// Linux's numbers of these are the same on all architectures.
const (
	getSyscallInfo = 0x420e
	entry          = 1
	stopOfCall     = syscall.SIGTRAP | 0x80
	// wallFlag waits for threads as well.
	wallFlag = 0x40000000
	exitKill = 0x100000
)

// info is struct ptrace_syscall_info at the entry of a call.
type info struct {
	op      uint8
	_       [3]uint8
	_       uint32
	_, _    uint64
	number  uint64
	operand [6]uint64
}

// name is that of a call that changes files, or that opens one if opens is set; empty: it is another one.
func (i info) name(opens bool) string {
	switch i.number {
	case syscall.SYS_OPENAT:
		if opens || i.operand[2]&syscall.O_CREAT != 0 {
			return "open"
		}
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64:
		if i.operand[0] > 2 && i.operand[2] != 8 {
			return "write"
		}
	}
	return names[i.number]
}

var names = map[uint64]string{
	syscall.SYS_MKDIRAT: "mkdir", syscall.SYS_LINKAT: "link", syscall.SYS_RENAMEAT: "rename", syscall.SYS_UNLINKAT: "unlink",
	syscall.SYS_FSYNC: "sync", syscall.SYS_FTRUNCATE: "truncate",
}

// run stops the program at the entry of a call and returns the name of the call; empty: the program ended before.
func run(t *testing.T, trial Trial, skip int) (call string, err error) {
	t.Helper()
	// The thread that starts a program is the one that may trace it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	said, err := os.CreateTemp(t.TempDir(), "said")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := trial.Command
	cmd.Stdout, cmd.Stderr = said, said
	// The race detector makes a program that ends wait a second.
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Release()
	traced := &program{t: t, pid: cmd.Process.Pid, skip: skip, interrupt: trial.Interrupt}
	if status := traced.follow(); status.Signaled() && traced.call == "" {
		err = fmt.Errorf("signal %s", status.Signal())
	} else if status.Exited() && status.ExitStatus() != 0 {
		text, _ := os.ReadFile(said.Name())
		err = fmt.Errorf("exit %d: %s", status.ExitStatus(), strings.TrimSpace(string(text)))
	}
	return traced.call, err
}

type program struct {
	t         *testing.T
	pid, skip int
	interrupt func()
	// call is the one that it was stopped at.
	call string
}

// follow returns how the program ended.
func (p *program) follow() syscall.WaitStatus {
	p.t.Helper()
	p.wait(p.pid)
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | exitKill
	if err := syscall.PtraceSetOptions(p.pid, options); err != nil {
		p.t.Fatalf("these tests need to trace processes: %v", err)
	}
	for thread, signal := p.pid, 0; ; {
		// A thread that was killed meanwhile cannot go on.
		_ = syscall.PtraceSyscall(thread, signal)
		var status syscall.WaitStatus
		thread, status = p.wait(-p.pid)
		signal = 0
		switch {
		case thread == p.pid && (status.Exited() || status.Signaled()):
			return status
		case status.StopSignal() == stopOfCall:
			p.stop(thread)
		case status.Stopped() && status.StopSignal() != syscall.SIGTRAP && status.StopSignal() != syscall.SIGSTOP:
			signal = int(status.StopSignal())
		}
	}
}

func (p *program) wait(pid int) (int, syscall.WaitStatus) {
	p.t.Helper()
	for {
		var status syscall.WaitStatus
		thread, err := syscall.Wait4(pid, &status, wallFlag, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return thread, status
	}
}

// stop interrupts the program if this is its call.
func (p *program) stop(thread int) {
	var i info
	_, _, failed := syscall.Syscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(thread), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	if failed != 0 || i.op != entry || p.call != "" {
		return
	}
	name := i.name(p.interrupt != nil)
	if name == "" {
		return
	}
	if p.skip--; p.skip >= 0 {
		return
	}
	p.call = name
	if p.interrupt != nil {
		p.interrupt()
		return
	}
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
}
