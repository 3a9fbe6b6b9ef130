package watch

import "golang.org/x/sys/unix"

type mountKind int

const (
	ordinary mountKind = iota
	network
	madeUp
)

// kindOf returns the kind of the file system of a directory.
func kindOf(path string) mountKind {
	var stat unix.Statfs_t
	if unix.Statfs(path, &stat) != nil {
		return ordinary
	}
	// The type is signed or 64 bits wide on some architectures; the magic numbers have 32 bits.
	switch uint32(stat.Type) {
	case unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
		return network
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return madeUp
	}
	return ordinary
}

// OnNetwork reports whether a directory is on a network file system, for which the kernel does not report changes by
// others.
func OnNetwork(path string) bool { return kindOf(path) == network }
