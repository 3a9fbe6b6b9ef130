package lifecycle

import (
	"os"

	"golang.org/x/sys/unix"
)

// openLog returns the log of the container, which is the stderr of this process; nil: its supervisor could not open the log. It is another
// descriptor than that of stderr, because Go ends a process whose stderr is a pipe that nothing reads any more.
func openLog() *os.File {
	stderr, err := os.Stderr.Stat()
	if err != nil {
		return nil
	}
	if null, err := os.Stat(os.DevNull); err != nil || os.SameFile(stderr, null) {
		return nil
	}
	file, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(file), "log")
}
