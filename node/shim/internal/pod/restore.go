package pod

import (
	"context"
	"fmt"
	"os"
	"time"

	task "github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/log"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/shim/v1/extension"
	"gvisor.dev/gvisor/pkg/shim/v1/proc"
	"gvisor.dev/gvisor/pkg/shim/v1/runsccmd"

	"sandlot.dev/node/shim/internal/agent"
)

const (
	// mostRestore is how long the other containers of a Pod may take to start: the kubelet may have to pull their images.
	mostRestore = 5 * time.Minute
	// goodbye is how long the end of a Pod waits for the report about its restore.
	goodbye = 5 * time.Second
	// failedStart is gVisor's exit code of a container that could not start.
	failedStart = 128
)

func waitForReport(ctx context.Context, reported <-chan struct{}) {
	select {
	case <-reported:
	case <-ctx.Done():
	case <-time.After(goodbye):
	}
}

func (s *Service) startPause(ctx context.Context, c container, r *task.StartRequest) (*task.StartResponse, error) {
	if err := s.allowStart(ctx, c); err != nil {
		s.abandon(ctx, c)
		return nil, err
	}
	if c.isRestored() {
		return s.startFromSnapshot(ctx, c, r)
	}
	return s.TaskServiceExt.Start(ctx, r)
}

// startFromSnapshot restores the pause container in place of starting it.
func (s *Service) startFromSnapshot(ctx context.Context, c container, r *task.StartRequest) (*task.StartResponse, error) {
	if c.wasRestored() {
		log.G(ctx).Warnf("Pod %s/%s was restored before and its sandbox ended: it starts without its memory", c.restore.Namespace, c.restore.PodName)
		return s.TaskServiceExt.Start(ctx, r)
	}
	image, err := s.begin(ctx, c)
	if err != nil {
		s.abandon(ctx, c)
		return nil, fmt.Errorf("start Pod %s/%s from SandboxSnapshot %s: %w", c.restore.Namespace, c.restore.PodName, c.restore.SnapshotUID, err)
	}
	if len(image.Files) > 0 {
		return s.startWithFiles(ctx, c, filesStart{r, image.Files})
	}
	started, err := s.restore(ctx, c, &extension.RestoreRequest{
		Start: r,
		Conf:  extension.RestoreConfig{ImagePath: image.Path, Direct: image.Direct, Background: image.Background},
	})
	return s.began(ctx, c, beginning{started, err, waitForRestore})
}

// beginning is a pause container that started or failed. Wait returns when all of the Pod has.
type beginning struct {
	started *task.StartResponse
	err     error
	wait    func(context.Context, container) error
}

// began follows a Pod whose pause container has started, and ends one whose has not.
func (s *Service) began(ctx context.Context, c container, b beginning) (*task.StartResponse, error) {
	if b.err != nil {
		s.report(ctx, c, b.err)
		s.abandon(ctx, c)
		return nil, fmt.Errorf("restore Pod %s/%s from SandboxSnapshot %s: %w", c.restore.Namespace, c.restore.PodName, c.restore.SnapshotUID, b.err)
	}
	s.follow(ctx, c, b.wait)
	return b.started, nil
}

func (s *Service) restore(ctx context.Context, c container, r *extension.RestoreRequest) (*task.StartResponse, error) {
	if err := os.WriteFile(c.restoringFile(), nil, 0o600); err != nil {
		return nil, err
	}
	return s.TaskServiceExt.Restore(ctx, r)
}

// begin takes the snapshot from the agent.
func (s *Service) begin(ctx context.Context, c container) (agent.Image, error) {
	options, err := c.settings()
	if err != nil {
		return agent.Image{}, err
	}
	if err := checkValidation(options); err != nil {
		return agent.Image{}, err
	}
	image, err := s.agent.Begin(ctx, c.restore)
	if err != nil && agent.HasBegun(err) {
		s.report(ctx, c, err)
	}
	return image, err
}

// follow reports when all containers run, or the first failure. A sandbox whose restore failed runs nothing, and gVisor does
// not report its end.
func (s *Service) follow(ctx context.Context, c container, wait func(context.Context, container) error) {
	ctx = context.WithoutCancel(ctx)
	reported := make(chan struct{})
	s.mu.Lock()
	s.reports[c.id] = reported
	s.mu.Unlock()
	go func() {
		defer close(reported)
		err := wait(ctx, c)
		if err == nil {
			err = c.markRestored()
		}
		s.report(ctx, c, err)
		if err != nil {
			endSandbox(ctx, c)
		}
	}()
}

// waitForRestore returns when gVisor has started all containers that are in the snapshot and has read all of it, and their shims
// know.
func waitForRestore(ctx context.Context, c container) error {
	ctx, cancel := context.WithTimeoutCause(ctx, mostRestore, fmt.Errorf("not all of its containers started within %s", mostRestore))
	defer cancel()
	command, err := c.command(ctx)
	if err != nil {
		return err
	}
	_, err = command.WaitWithOptions(ctx, c.sandbox, &runsccmd.WaitOpts{Restore: true})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return c.waitForShims(ctx)
}

// failRestore ends the restore of the Pod, if one is under way, because this container did not start.
func (s *Service) failRestore(ctx context.Context, c container, err error) {
	if !c.isRestoring() {
		return
	}
	s.report(ctx, c, fmt.Errorf("start container %s: %w", c.id, err))
	endSandbox(context.WithoutCancel(ctx), c)
}

// report tells the agent how the restore ended; nil: well.
func (s *Service) report(ctx context.Context, c container, failure error) {
	outcome := agent.Outcome{PodUID: c.restore.PodUID, Restored: failure == nil}
	if failure != nil {
		outcome.Message = failure.Error()
	}
	if err := s.agent.End(context.WithoutCancel(ctx), outcome); err != nil {
		log.G(ctx).WithError(err).Warnf("The node agent does not know that the restore of Pod %s/%s has ended", c.restore.Namespace, c.restore.PodName)
	}
}

// abandon ends the sandbox of a pause container that did not start. gVisor reports the end only of started ones, and
// containerd waits for it. gVisor delivers no signal to a sandbox whose runsc was killed while it restored it.
func (s *Service) abandon(ctx context.Context, c container) {
	ctx = context.WithoutCancel(ctx)
	_, err := s.TaskServiceExt.Kill(ctx, &task.KillRequest{ID: c.id, Signal: uint32(unix.SIGKILL), All: true})
	if err != nil && !endSandbox(ctx, c) {
		log.G(ctx).WithError(err).Warnf("The sandbox of Pod %s/%s, which did not start, may still be there", c.restore.Namespace, c.restore.PodName)
	}
	proc.ExitCh <- proc.Exit{Timestamp: time.Now(), ID: c.id, Status: failedStart}
}
