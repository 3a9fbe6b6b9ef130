package trust

import (
	"fmt"
	"os"
	"path/filepath"
)

// leftName is a file in the daemon's folder: while it is there, the stores of the image stay as they are.
const leftName = "image-left"

// LeaveImage takes the authorities out of the stores of the image and has no process of this container add them again: an image is
// made of its files, and other installations must not trust the authority of this one. Variables go on naming the daemon's own files.
func (s *Store) LeaveImage() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder == "" || !s.changesImage {
		return nil
	}
	// It comes first, so that a process that adds them at this moment has begun before.
	if err := s.noteLeft(); err != nil {
		return fmt.Errorf("keeping the authorities out of the image: %w", err)
	}
	if s.hasFiles() {
		s.changeImage("")
	}
	return nil
}

// noteLeft writes through a root, which refuses links out of the folder: all users may write there.
func (s *Store) noteLeft() error {
	folder, err := os.OpenRoot(s.folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	return replace(folder, file{name: leftName, mode: 0o444})
}

// leavesImage takes only a file of this user for the word of LeaveImage.
func (s *Store) leavesImage() bool {
	info, err := os.Lstat(filepath.Join(s.folder, leftName))
	return err == nil && info.Mode().IsRegular() && isOwn(info)
}
