package save

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"sandlot.dev/node/internal/files"
	"sandlot.dev/node/internal/names"
	"sandlot.dev/node/internal/store"
)

// filesTarget is where files go. Held stays open until gVisor has written them.
type filesTarget struct {
	draft *store.Draft
	held  *os.File
}

// addFiles adds the files of the containers to the draft if the request wants them. Only a snapshot of nothing else fails
// without them.
func (s *Saver) addFiles(ctx context.Context, what *savable, target filesTarget) error {
	isAll := what.request.Contents == store.ContentsFiles
	if !isAll && !what.request.KeepFiles {
		return nil
	}
	err := s.writeFiles(ctx, *what, target)
	if err == nil {
		what.manifest.HasFiles = true
		return nil
	}
	if isAll || ctx.Err() != nil {
		return err
	}
	what.manifest.FilesMessage = err.Error()
	slog.Warn("the memory is saved without the files beside it", "namespace", what.request.Snapshot.Namespace, "snapshot", what.request.Snapshot.UID, "error", err.Error())
	return removeFiles(target.draft, what.pod.Containers)
}

// writeFiles has gVisor write the root file systems in its own format, of which the sandbox notices little, and makes a tar of
// each, which every version of gVisor reads.
func (s *Saver) writeFiles(ctx context.Context, what savable, target filesTarget) (err error) {
	draft := target.draft
	// gVisor writes no more than what the memory has of these files already.
	size, err := draft.Size()
	if err != nil {
		return err
	}
	if err := draft.Extend(size + s.MostFilesBytes); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.RemoveScratch()) }()
	if err := s.Runsc.SaveFiles(ctx, what.pod.Sandbox, draft.Scratch(), target.held); err != nil {
		return err
	}
	checkpoint, err := files.Open(draft.Scratch())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checkpoint.Close()) }()
	most := s.MostFilesBytes
	if what.request.MostBytes != nil {
		most = min(most, *what.request.MostBytes-size)
	}
	for _, container := range what.pod.Containers {
		// One with a read-only root file system has changed nothing.
		if !slices.Contains(checkpoint.Containers(), container) {
			continue
		}
		written, err := writeTar(ctx, checkpoint, tarTarget{draft, container, most})
		if err != nil {
			return err
		}
		most -= written
	}
	return nil
}

// tarTarget is the tar of one container, and what it may have.
type tarTarget struct {
	draft     *store.Draft
	container string
	most      int64
}

func writeTar(ctx context.Context, from *files.Checkpoint, to tarTarget) (int64, error) {
	// gVisor has the name from containerd. It becomes part of a path.
	if err := names.CheckNamespace("container", to.container); err != nil {
		return 0, err
	}
	file, err := to.draft.Create(store.FilesName(to.container))
	if err != nil {
		return 0, err
	}
	err = from.WriteTar(ctx, to.container, file, to.most)
	info, statErr := file.Stat()
	if err := errors.Join(err, statErr, file.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func removeFiles(draft *store.Draft, containers []string) error {
	var errs []error
	for _, container := range containers {
		if err := draft.Remove(store.FilesName(container)); err != nil {
			errs = append(errs, fmt.Errorf("remove the files that were not kept: %w", err))
		}
	}
	return errors.Join(errs...)
}
