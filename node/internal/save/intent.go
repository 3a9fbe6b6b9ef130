package save

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"sandlot.dev/node/internal/names"
)

const (
	intentSuffix = ".json"
	unfinished   = ".unfinished-"
	mostIntent   = 64 << 10
	lockPoll     = 20 * time.Millisecond
)

// intents is a folder with one file for each Pod that is being saved. The file is there before the Pod stands still, and
// goes when the save has ended. The next agent resumes the Pods that it finds there.
type intents struct {
	root *os.Root
}

func openIntents(folder string) (*intents, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &intents{root}, nil
}

// write records the intent and returns its open file, locked. A runsc that inherits the file keeps the lock until it ends,
// also after the death of the agent, so that its successor knows when it can resume the Pod.
func (i *intents) write(r Request) (*os.File, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	name := r.Source.PodUID + intentSuffix
	file, err := i.root.OpenFile(unfinished+name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err := errors.Join(err, file.Sync()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := errors.Join(i.root.Rename(unfinished+name, name), syncFolder(i.root)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// remove forgets the intent.
func (i *intents) remove(podUID string) error {
	if err := i.root.Remove(podUID + intentSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(i.root)
}

// list returns the requests of saves that did not end, and removes half-written ones. An intent that cannot be read is an error of its own: its Pod may
// stand still.
func (i *intents) list() (requests []Request, broken []error) {
	entries, err := fs.ReadDir(i.root.FS(), ".")
	if err != nil {
		return nil, []error{err}
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinished) {
			// The death of an agent left it; its Pod was not touched.
			if err := i.root.Remove(entry.Name()); err != nil {
				broken = append(broken, err)
			}
			continue
		}
		uid, isIntent := strings.CutSuffix(entry.Name(), intentSuffix)
		if !isIntent || names.CheckUID("intent", uid) != nil {
			continue
		}
		r, err := i.read(uid)
		if err != nil {
			broken = append(broken, fmt.Errorf("the intent of the save of Pod %s cannot be read, so the Pod may stand still: delete the Pod: %w", uid, err))
			continue
		}
		requests = append(requests, r)
	}
	return requests, broken
}

func (i *intents) read(podUID string) (Request, error) {
	text, err := i.root.ReadFile(podUID + intentSuffix)
	if err != nil {
		return Request{}, err
	}
	var r Request
	if err := json.Unmarshal(text[:min(len(text), mostIntent)], &r); err != nil {
		return Request{}, err
	}
	return r, r.Check()
}

// waitForHolders waits until no process of a dead agent holds the intent.
func (i *intents) waitForHolders(ctx context.Context, podUID string) error {
	file, err := i.root.Open(podUID + intentSuffix)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a runsc of an earlier agent still works on Pod %s: %w", podUID, context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}
