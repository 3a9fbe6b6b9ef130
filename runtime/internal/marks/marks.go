// Package marks tells programs that they run in a sandbox, and in which: by variables, and by files for those that do not see
// the variables (docs/reference/runtime.md#marks).
package marks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sandlot.dev/runtime/internal/state"
)

// DefaultDir is the folder of the files.
const DefaultDir = "/run/e2b"

const (
	sandboxVariable  = "E2B_SANDBOX"
	idVariable       = "E2B_SANDBOX_ID"
	templateVariable = "E2B_TEMPLATE_ID"
)

// Variables returns the marks by name. Ids are among them once /init has named them.
func Variables(settings state.Settings) map[string]string {
	marks := map[string]string{sandboxVariable: "true"}
	if settings.SandboxID != "" {
		marks[idVariable] = settings.SandboxID
	}
	if settings.TemplateID != "" {
		marks[templateVariable] = settings.TemplateID
	}
	return marks
}

// Write makes the files those of these settings: what they do not name is removed, because a restored sandbox has the files of
// its source. Where the daemon may not write the folder, as when it is not root, there are no files and no error.
func Write(dir string, settings state.Settings) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return ignoreDenied(err)
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return ignoreDenied(err)
	}
	defer parent.Close()
	name := filepath.Base(dir)
	if err := parent.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return ignoreDenied(err)
	}
	// A root refuses links out of it, so that no program of the image can have the daemon write elsewhere.
	folder, err := parent.OpenRoot(name)
	if err != nil {
		return ignoreDenied(err)
	}
	defer folder.Close()
	marks := Variables(settings)
	for _, variable := range []string{sandboxVariable, idVariable, templateVariable} {
		if err := replace(folder, "."+variable, marks[variable]); err != nil {
			return ignoreDenied(err)
		}
	}
	return nil
}

// replace removes the file, and writes it anew unless the value is empty.
func replace(folder *os.Root, name, value string) error {
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if value == "" {
		return nil
	}
	file, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}
