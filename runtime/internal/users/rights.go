package users

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// As runs work on files with the rights of the user instead of the daemon's. Call it only if CanSwitch. The work must
// not panic.
func As(user User, work func() error) error {
	done := make(chan error, 1)
	go func() {
		// The goroutine never unlocks its thread, so the kernel thread ends with it and does no other work.
		runtime.LockOSThread()
		err := takeRights(user)
		RestoreDumps()
		if err != nil {
			done <- err
			return
		}
		done <- work()
	}()
	return <-done
}

// takeRights changes this thread alone. With a file system user other than root the kernel takes away the
// capabilities that pass over permissions and owners.
func takeRights(user User) error {
	groups := append([]uint32{user.GID}, user.Groups...)
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	if errno != 0 {
		return fmt.Errorf("taking the groups of user '%s': %w", user.Name, errno)
	}
	err := unix.Setfsgid(int(user.GID))
	if errors.Is(err, unix.ENOSYS) {
		return takeEffectiveRights(user)
	}
	if err != nil {
		return fmt.Errorf("taking the group of user '%s': %w", user.Name, err)
	}
	if err := unix.Setfsuid(int(user.UID)); err != nil {
		return fmt.Errorf("taking the rights of user '%s': %w", user.Name, err)
	}
	// These calls report no failure; asking for an impossible id returns the one in force.
	if now, _ := unix.SetfsuidRetUid(-1); now != int(user.UID) {
		return fmt.Errorf("taking the rights of user '%s': the kernel refuses", user.Name)
	}
	return nil
}

// takeEffectiveRights does the same on kernels without file system users, such as gVisor. The raw calls change this
// thread alone; those of the package syscall would change the daemon.
func takeEffectiveRights(user User) error {
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, same, uintptr(user.GID), same); errno != 0 {
		return fmt.Errorf("taking the effective group of user '%s': %w", user.Name, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(user.UID), same); errno != 0 {
		return fmt.Errorf("taking the effective rights of user '%s': %w", user.Name, errno)
	}
	return nil
}
