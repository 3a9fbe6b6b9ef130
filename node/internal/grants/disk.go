package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sandlot.dev/node/internal/names"
)

const (
	grantSuffix = ".json"
	unfinished  = ".unfinished-"
	mostGrant   = 64 << 10
)

// disk is a folder with one file for each grant.
type disk struct {
	root *os.Root
}

func openDisk(folder string) (*disk, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &disk{root}, nil
}

// write replaces the file of the grant. After an error the file has the earlier grant or this one.
func (d *disk) write(g Grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	name := g.PodUID + grantSuffix
	file, err := d.root.OpenFile(unfinished+name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := d.root.Rename(unfinished+name, name); err != nil {
		return err
	}
	return d.sync()
}

func (d *disk) remove(podUID string) error {
	if err := d.root.Remove(podUID + grantSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.sync()
}

// load reads all grants. One that cannot be read may have let a Pod begin, so it is an error.
func (d *disk) load() (map[string]Grant, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	grants := map[string]Grant{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinished) {
			if err := d.root.Remove(entry.Name()); err != nil {
				return nil, err
			}
			continue
		}
		podUID, isGrant := strings.CutSuffix(entry.Name(), grantSuffix)
		if !isGrant || names.CheckUID("grant", podUID) != nil {
			continue
		}
		g, err := d.read(podUID)
		if err != nil {
			return nil, fmt.Errorf("the record of the restore of Pod %s cannot be read, so the Pod could begin twice: delete the Pod, then %s: %w", podUID, entry.Name(), err)
		}
		grants[podUID] = g
	}
	return grants, nil
}

func (d *disk) read(podUID string) (Grant, error) {
	text, err := d.root.ReadFile(podUID + grantSuffix)
	if err != nil {
		return Grant{}, err
	}
	var g Grant
	if err := json.Unmarshal(text[:min(len(text), mostGrant)], &g); err != nil {
		return Grant{}, err
	}
	if g.PodUID != podUID || !g.State.isKnown() {
		return Grant{}, fmt.Errorf("it is of Pod %q in state %q", g.PodUID, g.State)
	}
	return g, g.Check()
}

func (d *disk) sync() error {
	folder, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
