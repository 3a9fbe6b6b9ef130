package installer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

const (
	dropInName = "sandlot-gvisor.toml"
	// header marks a drop-in as one that the installer may replace and remove.
	header = "# Sandlot's node installer writes this file, and removes it. Changes are lost.\n"
	// importNote ends the line that the installer adds to containerd's configuration.
	importNote = "# added by Sandlot's node installer"
	// backupSuffix ends the name of containerd's configuration as it was before.
	backupSuffix = ".before-sandlot"
	// restoreAnnotation names the snapshot that a Pod is started from. containerd passes nothing else on: some annotations of
	// gVisor name files of the node, which it reads or writes as root.
	restoreAnnotation = "sandlot.dev/restore-snapshot"
)

// runtimeTables are containerd's tables of runtimes, by the version of its configuration. A drop-in has the version of the
// configuration that imports it: containerd 2.1 keeps the tables of one version alone.
var runtimeTables = map[int]string{2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime", 4: "io.containerd.cri.v1.runtime"}

// mainConfig is containerd's configuration.
type mainConfig struct {
	text    []byte
	mode    fs.FileMode
	version int
	imports []string
}

func (s Settings) readConfig() (mainConfig, error) {
	info, err := os.Lstat(s.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return mainConfig{}, fmt.Errorf("containerd has no configuration at %s: make one (containerd config default > %s), or name another", s.Config, s.Config)
	}
	if err != nil {
		return mainConfig{}, err
	}
	text, err := os.ReadFile(s.Config)
	if err != nil {
		return mainConfig{}, err
	}
	var fields struct {
		Version int      `toml:"version"`
		Imports []string `toml:"imports"`
	}
	if _, err := toml.Decode(string(text), &fields); err != nil {
		return mainConfig{}, fmt.Errorf("read %s: %w", s.Config, err)
	}
	if runtimeTables[fields.Version] == "" {
		return mainConfig{}, fmt.Errorf("%s has version %d: versions 2 to 4 are known (containerd config migrate)", s.Config, fields.Version)
	}
	return mainConfig{text: text, mode: info.Mode(), version: fields.Version, imports: fields.Imports}, nil
}

func (s Settings) dropIn() string { return filepath.Join(s.DropIns, dropInName) }

// reads reports whether containerd imports the drop-in. It resolves paths as containerd does.
func (c mainConfig) reads(config, dropIn string) bool {
	for _, pattern := range c.imports {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(config), pattern)
		}
		if matches, err := filepath.Match(filepath.Clean(pattern), dropIn); err == nil && matches {
			return true
		}
	}
	return false
}

func (s Settings) importLine() string {
	return fmt.Sprintf("imports = [%s]", strconv.Quote(filepath.Join(s.DropIns, "*.toml")))
}

// withImport returns the text of containerd's configuration with the import.
func (s Settings) withImport(c mainConfig) ([]byte, error) {
	problem := fmt.Sprintf("containerd does not import %s", s.DropIns)
	switch {
	case !s.AddImport:
		return nil, fmt.Errorf("%s: add this line before the first table of %s, or set hibernation.installer.containerd.addImport: %s", problem, s.Config, s.importLine())
	case len(c.imports) > 0:
		return nil, fmt.Errorf("%s, and imports other files: add %q to imports in %s", problem, filepath.Join(s.DropIns, "*.toml"), s.Config)
	case !c.mode.IsRegular():
		return nil, fmt.Errorf("%s, and %s is not a regular file: add this line where it is made: %s", problem, s.Config, s.importLine())
	}
	text := append([]byte(s.importLine()+" "+importNote+"\n"), c.text...)
	if err := onlyAddsImport(c.text, text); err != nil {
		return nil, fmt.Errorf("%s, and the import cannot be added to %s: %w", problem, s.Config, err)
	}
	return text, nil
}

// onlyAddsImport guards against a text that means something else than it looks like, such as one with `imports = []`.
func onlyAddsImport(before, after []byte) error {
	var old, added map[string]any
	if _, err := toml.Decode(string(before), &old); err != nil {
		return err
	}
	if _, err := toml.Decode(string(after), &added); err != nil {
		return err
	}
	delete(added, "imports")
	if !reflect.DeepEqual(old, added) {
		return errors.New("it would change more than its imports")
	}
	return nil
}

// addImport keeps the configuration as it was beside it.
func (s Settings) addImport(c mainConfig, text []byte) error {
	backup := s.Config + backupSuffix
	if _, err := os.Lstat(backup); errors.Is(err, fs.ErrNotExist) {
		if _, err := placeText(backup, c.text, c.mode.Perm()); err != nil {
			return err
		}
	}
	_, err := placeText(s.Config, text, c.mode.Perm())
	return err
}

// removeImport takes away the line that addImport wrote, and nothing else.
func (s Settings) removeImport() error {
	info, err := os.Lstat(s.Config)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.Config)
	if err != nil {
		return err
	}
	line := []byte(s.importLine() + " " + importNote + "\n")
	text = bytes.Replace(text, line, nil, 1)
	if _, err := placeText(s.Config, text, info.Mode().Perm()); err != nil {
		return err
	}
	// A backup that differs is kept: it is the operator's way back.
	if sum, err := hashFile(s.Config + backupSuffix); err != nil || sum != hashText(text) {
		return err
	}
	return remove(s.Config + backupSuffix)
}

// formatDropIn adds the runtime to containerd.
func (s Settings) formatDropIn(version int) []byte {
	table := fmt.Sprintf("plugins.%q.containerd.runtimes.%q", runtimeTables[version], s.Handler)
	current := s.current()
	lines := []string{
		fmt.Sprintf("version = %d", version),
		"",
		"[" + table + "]",
		`runtime_type = "io.containerd.runsc.v1"`,
		"runtime_path = " + strconv.Quote(filepath.Join(current, shimName)),
		fmt.Sprintf("pod_annotations = [%q]", restoreAnnotation),
		"",
		"[" + table + ".options]",
		`TypeUrl = "io.containerd.runsc.v1.options"`,
		"ConfigPath = " + strconv.Quote(filepath.Join(current, configName)),
	}
	return []byte(header + strings.Join(lines, "\n") + "\n")
}

// readDropIn returns the drop-in as it is; nil: none. One of another author is an error.
func (s Settings) readDropIn() ([]byte, error) {
	if _, err := hashFile(s.dropIn()); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.dropIn())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !bytes.HasPrefix(text, []byte(header)) {
		return nil, fmt.Errorf("%s is not from Sandlot's installer: remove it, or name another folder", s.dropIn())
	}
	return text, err
}
