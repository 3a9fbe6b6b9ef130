package rpc

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sandlot.dev/runtime/internal/fsops"
	pb "sandlot.dev/runtime/internal/gen/filesystem"
	"sandlot.dev/runtime/internal/users"
)

// entryOf describes the entry at a path. For a symlink, type and mode are those of its target. A dangling symlink has
// the type symlink, because clients leave entries without a type out of listings.
func entryOf(path string, names *users.Directory) (*pb.EntryInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	entry := &pb.EntryInfo{
		Name:         text(filepath.Base(path)),
		Path:         text(path),
		Type:         typeOf(info.Mode()),
		Size:         info.Size(),
		Mode:         uint32(info.Mode().Perm()),
		Permissions:  info.Mode().String(),
		ModifiedTime: timestamppb.New(info.ModTime()),
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		entry.Owner, entry.Group = text(names.UserName(stat.Uid)), text(names.GroupName(stat.Gid))
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		describeLink(entry, path)
	}
	if entry.Type == pb.FileType_FILE_TYPE_FILE || entry.Type == pb.FileType_FILE_TYPE_DIRECTORY {
		entry.Metadata = fsops.Metadata(path)
	}
	return entry, nil
}

func describeLink(entry *pb.EntryInfo, path string) {
	entry.IsSymlink = true
	entry.Type = pb.FileType_FILE_TYPE_SYMLINK
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target, err = os.Readlink(path)
		if err == nil {
			target = text(target)
			entry.SymlinkTarget = &target
		}
		return
	}
	if info, err := os.Stat(target); err == nil {
		entry.Type = typeOf(info.Mode())
		entry.Mode = uint32(info.Mode().Perm())
	}
	target = text(target)
	entry.SymlinkTarget = &target
}

func typeOf(mode fs.FileMode) pb.FileType {
	switch mode.Type() {
	case 0:
		return pb.FileType_FILE_TYPE_FILE
	case fs.ModeDir:
		return pb.FileType_FILE_TYPE_DIRECTORY
	case fs.ModeSymlink:
		return pb.FileType_FILE_TYPE_SYMLINK
	}
	return pb.FileType_FILE_TYPE_UNSPECIFIED
}

// text makes a file name valid UTF-8 for JSON. Names on disk are arbitrary bytes, and one of them must not break a
// whole listing.
func text(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
