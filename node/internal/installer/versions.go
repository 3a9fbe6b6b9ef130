package installer

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	runscName  = "runsc"
	shimName   = "containerd-shim-runsc-v1"
	configName = "runsc.toml"
	// currentName is the link to the version that new Pods get. It changes in one step, so no Pod gets the shim of one version
	// and the runsc of another.
	currentName  = "current"
	versionsName = "versions"
)

// shimConfiguration is what the shim reads for each container. The local cluster of the tests uses it too.
//
//go:embed runsc.toml.tmpl
var shimConfiguration string

// version is one runsc with the shim of the same commit and their configuration.
type version struct {
	// name is derived from the contents.
	name   string
	folder string
	config []byte
	sums   map[string]string
}

// describe reads which version the image has.
func (s Settings) describe() (version, error) {
	sums := map[string]string{}
	for _, name := range []string{runscName, shimName} {
		sum, err := hashFile(filepath.Join(s.Source, name))
		if err != nil {
			return version{}, err
		}
		if sum == "" {
			return version{}, fmt.Errorf("the image has no %s", name)
		}
		sums[name] = sum
	}
	identity := strings.Join([]string{sums[runscName], sums[shimName], s.formatShimConfiguration("")}, "\n")
	name := hashText([]byte(identity))[:16]
	folder := filepath.Join(s.Folder, versionsName, name)
	config := []byte(s.formatShimConfiguration(filepath.Join(folder, runscName)))
	return version{name: name, folder: folder, config: config, sums: sums}, nil
}

// formatShimConfiguration names runsc by its version, and not by the link: a shim that runs goes on with the runsc that its
// sandbox was started with.
func (s Settings) formatShimConfiguration(runsc string) string {
	return strings.NewReplacer("RUNSC", strconv.Quote(runsc), "ROOT", strconv.Quote(filepath.Dir(s.RunscRoot))).Replace(shimConfiguration)
}

// put lays the version beside those that are there.
func (s Settings) put(v version) (changed bool, err error) {
	for _, folder := range []string{s.Folder, filepath.Dir(v.folder), v.folder} {
		if err := makeFolder(folder); err != nil {
			return false, err
		}
	}
	for _, name := range []string{runscName, shimName} {
		placed, err := s.putProgram(v, name)
		if err != nil {
			return changed, fmt.Errorf("install %s: %w", name, err)
		}
		changed = changed || placed
	}
	placed, err := placeText(filepath.Join(v.folder, configName), v.config, 0o644)
	return changed || placed, err
}

func (s Settings) putProgram(v version, name string) (changed bool, err error) {
	source, err := os.Open(filepath.Join(s.Source, name))
	if err != nil {
		return false, err
	}
	defer source.Close()
	return place(filepath.Join(v.folder, name), source, v.sums[name], 0o755)
}

func (s Settings) current() string { return filepath.Join(s.Folder, currentName) }

// readCurrent returns the name of the version that new Pods get; empty: none.
func (s Settings) readCurrent() (string, error) {
	target, err := os.Readlink(s.current())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s is not the link of the installer: %w", s.current(), err)
	}
	name, isOurs := strings.CutPrefix(target, versionsName+"/")
	if !isOurs || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%s leads to %q, which is not from the installer", s.current(), target)
	}
	return name, nil
}

func (s Settings) switchTo(name string) error {
	return link(s.current(), filepath.Join(versionsName, name))
}

// prune removes all versions but one. No sandbox may run: a shim uses the programs of its version until its Pod ends.
func (s Settings) prune(except string) error {
	folder := filepath.Join(s.Folder, versionsName)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == except {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return syncFolder(folder)
}

// countSandboxes counts the containers that gVisor runs on the node.
func (s Settings) countSandboxes() (int, error) {
	entries, err := os.ReadDir(s.RunscRoot)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	count := 0
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".state") {
			count++
		}
	}
	return count, nil
}
