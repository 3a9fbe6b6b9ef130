package store

import (
	"context"
	"os"
)

// Content is a finished snapshot that is open for reading. It can be read to its end also after its deletion, as long as its
// files are open.
type Content struct {
	Manifest
	folder *os.Root
}

// OpenVerified opens a snapshot after it compared the checksums. It returns ErrAbsent or a DamagedError.
func (s *Store) OpenVerified(ctx context.Context, key Key) (*Content, error) {
	m, err := s.Verify(ctx, key)
	if err != nil {
		return nil, err
	}
	folder, err := s.openFolder(key)
	if err != nil {
		return nil, err
	}
	return &Content{m, folder}, nil
}

// Open opens a file of the snapshot.
func (c *Content) Open(file File) (*os.File, error) { return c.folder.Open(file.Name) }

// Close ends the use of the snapshot.
func (c *Content) Close() error { return c.folder.Close() }
