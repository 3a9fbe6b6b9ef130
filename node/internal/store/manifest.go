package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"sandlot.dev/node/internal/fingerprint"
	"sandlot.dev/node/internal/names"
)

// manifestVersion changes when an older agent could misread a manifest.
const manifestVersion = 1

// manifestName is the file that makes a folder a snapshot.
const manifestName = "manifest.json"

// mostManifest bounds what is read into memory.
const mostManifest = 1 << 20

// Key names a snapshot.
type Key struct {
	Namespace string `json:"namespace"`
	// UID is that of the SandboxSnapshot.
	UID string `json:"snapshotUid"`
}

// Check refuses names that are not those of Kubernetes objects.
func (k Key) Check() error {
	return errors.Join(names.CheckNamespace("namespace", k.Namespace), names.CheckUID("snapshotUid", k.UID))
}

// Source says whose memory a snapshot is.
type Source struct {
	SandboxName string `json:"sandboxName"`
	SandboxUID  string `json:"sandboxUid"`
	PodName     string `json:"podName"`
	PodUID      string `json:"podUid"`
}

// Check refuses names that are not those of Kubernetes objects.
func (s Source) Check() error {
	return errors.Join(
		names.CheckName("sandboxName", s.SandboxName), names.CheckUID("sandboxUid", s.SandboxUID),
		names.CheckName("podName", s.PodName), names.CheckUID("podUid", s.PodUID),
	)
}

// File is a part of a snapshot.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Checksum is the result of the function checksum.
	Checksum string `json:"checksum"`
}

// Manifest describes a finished snapshot. It is written last.
type Manifest struct {
	Version int `json:"version"`
	Key
	Source Source `json:"source"`
	// Mode is the mode in which the snapshot was saved.
	Mode string `json:"mode"`
	// Contents is ContentsFiles for a snapshot without memory; empty: it has memory.
	Contents string `json:"contents,omitempty"`
	// HasFiles says that there is a tar with the files of each container, FilesMessage why there is none.
	HasFiles     bool   `json:"hasFiles,omitempty"`
	FilesMessage string `json:"filesMessage,omitempty"`
	// CopyOf is the UID of the snapshot that a copy was made of. Empty: it is no copy.
	CopyOf  string                  `json:"copyOf,omitempty"`
	Machine fingerprint.Fingerprint `json:"machine"`
	// Containers are the names of the Pod's containers.
	Containers []string  `json:"containers"`
	Files      []File    `json:"files"`
	Bytes      int64     `json:"bytes"`
	SavedAt    time.Time `json:"savedAt"`
}

// ContentsFiles are the contents of a snapshot that has the files of containers and no memory.
const ContentsFiles = "Files"

const (
	filesPrefix = "files-"
	filesSuffix = ".tar"
)

// FilesName is the name of the file with the files of a container.
func FilesName(container string) string { return filesPrefix + container + filesSuffix }

// FilesOf returns the names of the files with the files of containers, by container.
func (m Manifest) FilesOf() map[string]string {
	found := map[string]string{}
	for _, file := range m.Files {
		container, isFiles := strings.CutPrefix(file.Name, filesPrefix)
		if container, isTar := strings.CutSuffix(container, filesSuffix); m.HasFiles && isFiles && isTar {
			found[container] = file.Name
		}
	}
	return found
}

// DecodeManifest reads the manifest of the snapshot k. It trusts neither its size nor its content.
func DecodeManifest(k Key, text []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, &DamagedError{k, fmt.Sprintf("its manifest cannot be read: %v", err)}
	}
	switch {
	case m.Version != manifestVersion:
		return Manifest{}, &DamagedError{k, fmt.Sprintf("its manifest has version %d, this agent reads version %d", m.Version, manifestVersion)}
	case m.Key != k:
		return Manifest{}, &DamagedError{k, fmt.Sprintf("its manifest is that of %s/%s", m.Namespace, m.UID)}
	case len(m.Files) == 0:
		return Manifest{}, &DamagedError{k, "its manifest names no file"}
	}
	for _, file := range m.Files {
		if !isPartName(file.Name) {
			return Manifest{}, &DamagedError{k, fmt.Sprintf("its manifest names the file %q", file.Name)}
		}
		if file.Bytes < 0 {
			return Manifest{}, &DamagedError{k, fmt.Sprintf("its manifest says that %s has %d bytes", file.Name, file.Bytes)}
		}
	}
	return m, nil
}

// isPartName accepts plain file names that cannot be mistaken for the store's own.
func isPartName(name string) bool {
	return fs.ValidPath(name) && name != "." && name[0] != '.' && !strings.Contains(name, "/") && name != manifestName
}
