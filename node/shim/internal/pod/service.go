// Package pod adds to gVisor's shim what hibernation needs: the start of a Pod from a snapshot, and the end of a Pod that
// stands still.
package pod

import (
	"context"
	"errors"
	"sync"

	task "github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/containerd/v2/pkg/protobuf/types"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/shim/v1/extension"

	"sandlot.dev/node/shim/internal/agent"
)

// Extend makes gVisor's shim answer containerd through a Service. A shim serves one container, or all of a Pod, as its
// configuration says: gVisor asks for the extension at each of them.
func Extend(client *agent.Client) {
	var once sync.Once
	var service *Service
	extend := func(_ context.Context, next extension.TaskServiceExt, _ *task.CreateTaskRequest) (extension.TaskServiceExt, error) {
		once.Do(func() { service = NewService(next, client) })
		return service, nil
	}
	extension.NewExtension = extend
	extension.NewPodExtension = extend
}

// Service answers containerd. What it does not answer itself goes to gVisor's service.
type Service struct {
	extension.TaskServiceExt
	agent *agent.Client

	mu         sync.Mutex
	containers map[string]container
	// reports are closed when the agent knows how the restore ended, by the pause container's id.
	reports map[string]chan struct{}
}

// NewService makes a Service before gVisor's.
func NewService(next extension.TaskServiceExt, client *agent.Client) *Service {
	return &Service{
		TaskServiceExt: next,
		agent:          client,
		containers:     map[string]container{},
		reports:        map[string]chan struct{}{},
	}
}

// Create implements task.TaskService.
func (s *Service) Create(ctx context.Context, r *task.CreateTaskRequest) (*task.CreateTaskResponse, error) {
	c, err := readContainer(r.ID, r.Bundle)
	if err != nil {
		return nil, err
	}
	if err := c.prepareFiles(); err != nil {
		return nil, err
	}
	created, err := s.TaskServiceExt.Create(ctx, r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.containers[c.id] = c
	return created, nil
}

// Start implements task.TaskService. Once the pause container is restored, gVisor restores the others when they start.
func (s *Service) Start(ctx context.Context, r *task.StartRequest) (*task.StartResponse, error) {
	c, found := s.find(r.ID)
	if r.ExecID != "" || !found {
		return s.TaskServiceExt.Start(ctx, r)
	}
	if c.isPause() {
		return s.startPause(ctx, c, r)
	}
	started, err := s.startOther(ctx, c, r)
	if err != nil {
		s.failRestore(ctx, c, err)
	}
	return started, err
}

// startOther starts a container that is not the pause container.
func (s *Service) startOther(ctx context.Context, c container, r *task.StartRequest) (*task.StartResponse, error) {
	start, err := c.beginStart()
	if err != nil {
		return nil, err
	}
	defer start.leave()
	started, err := s.TaskServiceExt.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return started, errors.Join(c.markStarted(), start.end())
}

// Kill implements task.TaskService.
func (s *Service) Kill(ctx context.Context, r *task.KillRequest) (*types.Empty, error) {
	c, found := s.find(r.ID)
	if r.ExecID != "" || !found {
		return s.TaskServiceExt.Kill(ctx, r)
	}
	if endPaused(ctx, c) {
		return &types.Empty{}, nil
	}
	killed, err := s.TaskServiceExt.Kill(ctx, r)
	// gVisor delivers no signal before all containers are restored.
	if err != nil && c.isRestoring() && endSandbox(ctx, c) {
		return &types.Empty{}, nil
	}
	return killed, err
}

// Delete implements task.TaskService.
func (s *Service) Delete(ctx context.Context, r *task.DeleteRequest) (*task.DeleteResponse, error) {
	if r.ExecID != "" {
		return s.TaskServiceExt.Delete(ctx, r)
	}
	c, _ := s.find(r.ID)
	deleted, err := s.deleteContainer(ctx, r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.containers, r.ID)
	reported := s.reports[r.ID]
	delete(s.reports, r.ID)
	s.mu.Unlock()
	if reported != nil {
		c.forgetFiles()
		waitForReport(ctx, reported)
	}
	return deleted, nil
}

// deleteContainer waits while a shim ends the sandbox: gVisor fails where two delete a container at the same time.
func (s *Service) deleteContainer(ctx context.Context, r *task.DeleteRequest) (*task.DeleteResponse, error) {
	if c, found := s.find(r.ID); found {
		defer c.lockPod(ctx, unix.LOCK_SH)()
	}
	return s.TaskServiceExt.Delete(ctx, r)
}

func (s *Service) find(id string) (container, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, found := s.containers[id]
	return c, found
}
