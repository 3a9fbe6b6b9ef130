package save

import (
	"fmt"

	"sandlot.dev/node/internal/store"
)

// HibernatedError means that the memory of the Pod is in a snapshot, or will be.
type HibernatedError struct {
	PodUID   string
	Snapshot store.Key
}

func (e *HibernatedError) Error() string {
	return fmt.Sprintf("Pod %s is hibernated as SandboxSnapshot %s/%s: started without its memory, it could change disks that this memory relies on. It starts once the SandboxSnapshot is deleted", e.PodUID, e.Snapshot.Namespace, e.Snapshot.UID)
}

// RetiredError means that the sandbox of the Pod went on in another one.
type RetiredError struct {
	PodUID string
}

func (e *RetiredError) Error() string {
	return fmt.Sprintf("the sandbox of Pod %s was saved and went on in another Pod, so this one never starts again: delete it", e.PodUID)
}

// CheckStart refuses the start of a Pod whose sandbox ended while it stood still, with a HibernatedError if a hibernation of
// it is finished or being saved, and with a RetiredError if its sandbox went on in another Pod.
func (s *Saver) CheckStart(podUID string) error {
	s.mutex.Lock()
	j, isSaving := s.running[podUID]
	s.mutex.Unlock()
	// A save leaves running after its snapshot is in the store.
	if isSaving && j.request.Mode == Hibernate {
		return &HibernatedError{podUID, j.request.Snapshot}
	}
	manifests, _ := s.Store.List()
	for _, m := range manifests {
		if m.Source.PodUID == podUID && m.Mode == string(Hibernate) {
			return &HibernatedError{podUID, m.Key}
		}
	}
	// Looked at last: the record comes before the hibernation goes.
	isRetired, err := s.retired.has(podUID)
	if err == nil && isRetired {
		err = &RetiredError{podUID}
	}
	return err
}
