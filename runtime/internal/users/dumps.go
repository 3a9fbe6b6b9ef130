package users

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// forbidden means that this process forbids dumps of itself.
var forbidden atomic.Bool

// ForbidDumps keeps the memory of the daemon, which has tokens and variables, out of core dumps and away from other
// processes of its user. Programs that it starts keep the settings of the image.
func ForbidDumps() {
	forbidden.Store(true)
	RestoreDumps()
}

// RestoreDumps sets what this process has chosen again: the kernel may forget it when a thread, or a child before its exec, changes
// its user. A supervisor allows dumps: it has no secrets, and programs write to the log of the container through its files.
func RestoreDumps() {
	allowed := uintptr(1)
	if forbidden.Load() {
		allowed = 0
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, allowed, 0, 0, 0)
}
