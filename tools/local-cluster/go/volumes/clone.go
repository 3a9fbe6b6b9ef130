package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// partialPrefix is the beginning of the name of a folder that is not complete yet. No volume is called so.
const partialPrefix = ".partial-"

// clone makes the folder at path a copy of the volume that the claim names as its source. The folder appears under its name
// when it is complete, and one that is there already is of an earlier attempt: its name has the UID of the claim.
func (p *provisioner) clone(ctx context.Context, claim *v1.PersistentVolumeClaim, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	source, err := p.findSource(ctx, claim)
	if err != nil {
		return fmt.Errorf("clone PersistentVolumeClaim %q: %w", claim.Name, err)
	}
	lock := p.sources.of(source)
	lock.RLock()
	defer lock.RUnlock()
	partial := filepath.Join(p.root, partialPrefix+filepath.Base(path))
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := copyFolder(ctx, source, partial); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	return os.Rename(partial, path)
}

// findSource returns the folder of the claim that is to be cloned.
func (p *provisioner) findSource(ctx context.Context, claim *v1.PersistentVolumeClaim) (string, error) {
	name, err := readSourceName(claim)
	if err != nil {
		return "", err
	}
	source, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if source.Status.Phase != v1.ClaimBound {
		return "", fmt.Errorf("its source %q has no volume yet", name)
	}
	volume, err := p.client.CoreV1().PersistentVolumes().Get(ctx, source.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if ref := volume.Spec.ClaimRef; ref == nil || ref.UID != source.UID {
		return "", fmt.Errorf("PersistentVolume %q is not that of its source %q", volume.Name, name)
	}
	path, isOurs := p.folderOf(volume)
	if !isOurs {
		return "", fmt.Errorf("its source %q is of another provisioner; use a class of %s for both", name, p.name)
	}
	wanted, given := claim.Spec.Resources.Requests[v1.ResourceStorage], volume.Spec.Capacity[v1.ResourceStorage]
	if wanted.Cmp(given) < 0 {
		return "", fmt.Errorf("it asks for %s, and its source %q has %s; ask for as much", wanted.String(), name, given.String())
	}
	return path, nil
}

func readSourceName(claim *v1.PersistentVolumeClaim) (string, error) {
	source := claim.Spec.DataSource
	if ref := claim.Spec.DataSourceRef; ref != nil && ref.Namespace != nil {
		return "", errors.New("a source in another namespace is not supported")
	}
	if source == nil || source.Kind != "PersistentVolumeClaim" || (source.APIGroup != nil && *source.APIGroup != "") {
		return "", errors.New("its source must be a PersistentVolumeClaim of its namespace")
	}
	return source.Name, nil
}

// folderOf returns the folder of a volume that this provisioner made.
func (p *provisioner) folderOf(volume *v1.PersistentVolume) (path string, isOurs bool) {
	if volume.Spec.HostPath == nil || filepath.Dir(volume.Spec.HostPath.Path) != p.root {
		return "", false
	}
	return volume.Spec.HostPath.Path, true
}

// copyFolder copies everything with its owners, modes, times, links and holes. It shares blocks where the file system can.
// The copy ends with this process: a later one begins anew in the same place.
func copyFolder(ctx context.Context, from, to string) error {
	// The signal comes when the thread that started the command ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command := exec.CommandContext(ctx, "cp", "--archive", "--reflink=auto", "--sparse=auto", "--no-target-directory", "--", from, to)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, strings.TrimSpace(string(said)))
	}
	return nil
}

func removePartialCopies(root string) error {
	left, err := filepath.Glob(filepath.Join(root, partialPrefix+"*"))
	if err != nil {
		return err
	}
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}

// locks has one lock for each folder that was ever copied or removed: a test cluster has few.
type locks struct{ byPath sync.Map }

func (l *locks) of(path string) *sync.RWMutex {
	lock, _ := l.byPath.LoadOrStore(path, &sync.RWMutex{})
	return lock.(*sync.RWMutex)
}
