package runsc

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// statePattern is where gVisor keeps a file for each container: ID_sandbox:SANDBOX.state.
const statePattern = "_sandbox:*.state"

// mostState bounds what is read of one file.
const mostState = 4 << 20

// findContainers returns the containers of the Pod by gVisor's own files, whose format is not promised, without their states. It
// is not complete if one cannot be read, as while gVisor writes it, or if there is none.
func (r Runsc) findContainers(name PodName) (found []Container, isComplete bool) {
	paths, err := filepath.Glob(filepath.Join(r.Root, "*"+statePattern))
	if err != nil || len(paths) == 0 {
		return nil, false
	}
	for _, path := range paths {
		c, err := readState(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || c.ID == "" {
			return nil, false
		}
		if isOf(c, name) {
			found = append(found, c)
		}
	}
	return found, true
}

// hasStateFile reports whether gVisor still has the container.
func (r Runsc) hasStateFile(id string) bool {
	paths, err := filepath.Glob(filepath.Join(r.Root, id+statePattern))
	return err != nil || len(paths) > 0
}

func readState(path string) (Container, error) {
	file, err := os.Open(path)
	if err != nil {
		return Container{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostState))
	if err != nil {
		return Container{}, err
	}
	var state struct {
		ID   string `json:"id"`
		Spec struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"spec"`
	}
	err = json.Unmarshal(text, &state)
	return Container{ID: state.ID, Annotations: state.Spec.Annotations}, err
}
