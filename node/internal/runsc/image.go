package runsc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

const (
	// stateFile is gVisor's file with the kernel of a sandbox. It begins with magic, the length of a JSON object, and this object.
	stateFile = "checkpoint.img"
	magic     = "gVisorSF"
	countKey  = "container_count"
	mostHead  = 1 << 20
)

// CheckImage refuses an image with fewer containers than these beside the pause container: one ended before gVisor began to
// write, and gVisor would refuse the restore. Ended containers that are not deleted count, so an image may have more. It
// accepts an image that does not say.
func CheckImage(folder string, containers []string) error {
	count, isThere := readCount(filepath.Join(folder, stateFile))
	if isThere && count < len(containers)+1 {
		return fmt.Errorf("a container of %v ended before its memory was saved, because it failed or its shim died", containers)
	}
	return nil
}

func readCount(path string) (count int, isThere bool) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	head := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(file, head); err != nil || !bytes.HasPrefix(head, []byte(magic)) {
		return 0, false
	}
	length := min(binary.BigEndian.Uint64(head[len(magic):]), mostHead)
	metadata := map[string]string{}
	if err := json.NewDecoder(io.LimitReader(file, int64(length))).Decode(&metadata); err != nil {
		return 0, false
	}
	count, err = strconv.Atoi(metadata[countKey])
	return count, err == nil
}
