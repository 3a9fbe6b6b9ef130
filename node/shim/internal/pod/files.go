package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	task "github.com/containerd/containerd/api/runtime/task/v2"
	"gvisor.dev/gvisor/pkg/shim/v1/runsc"
	"gvisor.dev/gvisor/pkg/shim/v1/utils"
)

const (
	// tarAnnotation begins the name of the annotation with which gVisor reads a tar of the node: the container's name follows.
	tarAnnotation = "dev.gvisor.tar.rootfs.upper"
	// tarFlag lets gVisor read it.
	tarFlag = "allow-rootfs-tar-annotation"
	// filesPoll is how often the shim of the pause container looks which containers have started.
	filesPoll = 50 * time.Millisecond
)

// filesStart is the start of a Pod that boots with its files.
type filesStart struct {
	request *task.StartRequest
	files   map[string]string
}

// startWithFiles starts the pause container. The shims of the others find in its folder which files they begin with.
func (s *Service) startWithFiles(ctx context.Context, c container, start filesStart) (*task.StartResponse, error) {
	err := c.offerFiles(start.files)
	if err != nil {
		return s.began(ctx, c, beginning{nil, err, nil})
	}
	started, err := s.TaskServiceExt.Start(ctx, start.request)
	return s.began(ctx, c, beginning{started, err, waitForStarts})
}

func (c container) offerFiles(files map[string]string) error {
	options, err := c.settings()
	if err != nil {
		return err
	}
	if err := checkTarFlag(options); err != nil {
		return err
	}
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(c.filesFile(), text, 0o600), os.WriteFile(c.restoringFile(), nil, 0o600))
}

func checkTarFlag(options runsc.Options) error {
	if options.RunscConfig[tarFlag] == "true" {
		return nil
	}
	return fmt.Errorf("gVisor on this node starts no Pod with files of a snapshot: set %s = \"true\" in [runsc_config] of the shim's configuration file", tarFlag)
}

func (c container) filesFile() string {
	return filepath.Join(c.pauseFolder(), "sandlot-files.json")
}

// startedFile is there once the container of this name has started.
func (c container) startedFile(name string) string {
	return filepath.Join(c.pauseFolder(), "sandlot-started-"+name)
}

// readFiles returns the files that the containers of the Pod begin with. A container that starts again once all have started
// begins without, as in any other Pod.
func (c container) readFiles() (map[string]string, error) {
	if !c.isRestoring() {
		return nil, nil
	}
	text, err := os.ReadFile(c.filesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files map[string]string
	return files, json.Unmarshal(text, &files)
}

// prepareFiles tells gVisor which files the container begins with. No Pod may say so itself: gVisor would read any tar of the
// node. containerd passes such an annotation on where its configuration lists dev.gvisor.* for the handler.
func (c container) prepareFiles() error {
	spec, err := utils.ReadSpec(c.bundle)
	if err != nil {
		return err
	}
	for name := range spec.Annotations {
		if strings.HasPrefix(name, tarAnnotation) {
			return fmt.Errorf("container %s has the annotation %s, with which it would read a file of the node: remove it from the Pod, and dev.gvisor.* from pod_annotations of containerd's configuration", c.id, name)
		}
	}
	if c.isPause() {
		return nil
	}
	files, err := c.readFiles()
	path, isThere := files[c.name]
	if err != nil || !isThere {
		return err
	}
	spec.Annotations[tarAnnotation+"."+c.name] = path
	return utils.WriteSpec(c.bundle, spec)
}

// markStarted notes for the shim of the pause container that this one has begun with its files.
func (c container) markStarted() error {
	files, err := c.readFiles()
	if _, isThere := files[c.name]; err != nil || !isThere {
		return err
	}
	return os.WriteFile(c.startedFile(c.name), nil, 0o600)
}

// forgetFiles ends the wait for the containers of a Pod that ends.
func (c container) forgetFiles() { _ = os.Remove(c.filesFile()) }

// waitForStarts returns when all containers have begun with their files.
func waitForStarts(_ context.Context, c container) error {
	for deadline := time.Now().Add(mostRestore); ; time.Sleep(filesPoll) {
		files, err := c.readFiles()
		if err != nil {
			return err
		}
		waiting := c.listWaiting(files)
		switch {
		case files == nil:
			return errors.New("its sandbox ended before all of its containers had started")
		case len(waiting) == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("its containers %s did not start within %s", strings.Join(waiting, ", "), mostRestore)
		}
	}
}

func (c container) listWaiting(files map[string]string) []string {
	var waiting []string
	for name := range files {
		if _, err := os.Stat(c.startedFile(name)); err != nil {
			waiting = append(waiting, name)
		}
	}
	return waiting
}
