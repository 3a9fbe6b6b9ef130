package users

import "golang.org/x/sys/unix"

// ForbidDumps keeps the memory of the daemon, which has tokens and variables, out of core dumps and away from other
// processes of its user. Programs that it starts keep the settings of the image. The kernel may forget it when a
// thread, or a child before its exec, changes its user: so call it again then.
func ForbidDumps() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
