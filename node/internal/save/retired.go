package save

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"sandlot.dev/node/internal/names"
	"sandlot.dev/node/internal/runsc"
)

const (
	retiredSuffix = ".retired"
	// retiredFor is longer than any kubelet needs to learn that its Pod is gone.
	retiredFor = 24 * time.Hour
)

// retired is a folder with one file for each Pod that never goes on, because its sandbox does so in another Pod. The file has
// the time at which the agent learned of it.
type retired struct {
	root *os.Root
}

func (r *retired) add(podUID string, now time.Time) error {
	file, err := r.root.OpenFile(podUID+retiredSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(now.UTC().Format(time.RFC3339))
	return errors.Join(err, file.Sync(), file.Close(), syncFolder(r.root))
}

func (r *retired) has(podUID string) (bool, error) {
	_, err := r.root.Stat(podUID + retiredSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// listOld returns the Pods whose records are old.
func (r *retired) listOld(now time.Time) ([]string, error) {
	entries, err := fs.ReadDir(r.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var old []string
	for _, entry := range entries {
		podUID, isRecord := strings.CutSuffix(entry.Name(), retiredSuffix)
		if !isRecord || names.CheckUID("record", podUID) != nil {
			continue
		}
		text, err := r.root.ReadFile(entry.Name())
		if err != nil {
			return nil, err
		}
		// A record without a time, after a loss of power, is taken for an old one: the Pod itself decides.
		if at, err := time.Parse(time.RFC3339, string(text)); err != nil || now.Sub(at) >= retiredFor {
			old = append(old, podUID)
		}
	}
	return old, nil
}

// Prune forgets Pods that never go on, once they are gone from the node for long.
func (s *Saver) Prune(ctx context.Context) error {
	old, err := s.retired.listOld(s.Now())
	if err != nil || len(old) == 0 {
		return err
	}
	containers, err := s.Runsc.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, podUID := range old {
		if !runsc.HasPod(containers, podUID) {
			errs = append(errs, s.retired.root.Remove(podUID+retiredSuffix))
		}
	}
	return errors.Join(errs...)
}

// syncFolder makes the entries of a folder survive a loss of power.
func syncFolder(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
