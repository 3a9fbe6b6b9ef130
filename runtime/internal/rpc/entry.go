package rpc

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sandlot.dev/runtime/internal/fsops"
	pb "sandlot.dev/runtime/internal/gen/filesystem"
)

// entryAt describes the entry at a path as a user may see it.
func entryAt(view fsops.View, path string) (*pb.EntryInfo, error) {
	found, err := view.Look(path)
	if err != nil {
		return nil, err
	}
	return entryOf(view, found), nil
}

// entryOf describes an entry. For a symlink, type and mode are those of its target. A symlink that leads nowhere has
// the type symlink, because clients leave entries without a type out of listings.
func entryOf(view fsops.View, found fsops.Entry) *pb.EntryInfo {
	info := found.Info
	entry := &pb.EntryInfo{
		Name:         text(filepath.Base(found.Path)),
		Path:         text(found.Path),
		Type:         typeOf(info.Mode()),
		Size:         info.Size(),
		Mode:         uint32(info.Mode().Perm()),
		Permissions:  info.Mode().String(),
		ModifiedTime: timestamppb.New(info.ModTime()),
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		names := view.Session.Names()
		entry.Owner, entry.Group = text(names.UserName(stat.Uid)), text(names.GroupName(stat.Gid))
	}
	if found.Link != nil {
		describeLink(entry, found.Link)
	}
	if entry.Type == pb.FileType_FILE_TYPE_FILE || entry.Type == pb.FileType_FILE_TYPE_DIRECTORY {
		entry.Metadata = found.Metadata
	}
	return entry
}

func describeLink(entry *pb.EntryInfo, link *fsops.Link) {
	entry.IsSymlink = true
	if link.Info != nil {
		entry.Type = typeOf(link.Info.Mode())
		entry.Mode = uint32(link.Info.Mode().Perm())
	}
	if target := text(link.Target); target != "" {
		entry.SymlinkTarget = &target
	}
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
