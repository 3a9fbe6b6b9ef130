package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
)

// ChunkBytes is the part of a file that one worker reads at a time. It is a part of the format: another size gives another
// checksum.
const ChunkBytes = 8 << 20

// checksumPrefix names the function, so that a later one can stand beside it.
const checksumPrefix = "sha256-8mib:"

// checksum returns the SHA-256 of the SHA-256 of each 8 MiB of the file. All processors take part in it.
func checksum(ctx context.Context, file *os.File, size int64) (string, error) {
	chunks := int((size + ChunkBytes - 1) / ChunkBytes)
	sums := make([][sha256.Size]byte, chunks)
	workers := min(runtime.GOMAXPROCS(0), max(chunks, 1))
	errs := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for chunk := worker; chunk < chunks && errs[worker] == nil; chunk += workers {
				sums[chunk], errs[worker] = sumChunk(ctx, file, int64(chunk)*ChunkBytes)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	whole := sha256.New()
	for _, sum := range sums {
		whole.Write(sum[:])
	}
	return checksumPrefix + hex.EncodeToString(whole.Sum(nil)), nil
}

func sumChunk(ctx context.Context, file *os.File, from int64) (sum [sha256.Size]byte, err error) {
	if ctx.Err() != nil {
		return sum, context.Cause(ctx)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, from, ChunkBytes)); err != nil {
		return sum, err
	}
	hash.Sum(sum[:0])
	return sum, nil
}
