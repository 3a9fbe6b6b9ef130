package users

import (
	"os"

	"golang.org/x/sys/unix"
)

// Machine returns the directory of this container.
func Machine() *Directory {
	groups := []uint32{}
	if own, err := os.Getgroups(); err == nil {
		for _, group := range own {
			groups = append(groups, uint32(group))
		}
	}
	return New(Options{
		PasswdFile: "/etc/passwd",
		GroupFile:  "/etc/group",
		UID:        uint32(os.Getuid()),
		GID:        uint32(os.Getgid()),
		Groups:     groups,
		Home:       os.Getenv("HOME"),
		CanSwitch:  canSwitch(),
	})
}

// canSwitch asks the kernel, because root in a container may lack the capabilities of root.
func canSwitch() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	return data[0].Effective&needed == needed
}
