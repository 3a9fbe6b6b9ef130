package runsc_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"sandlot.dev/node/internal/runsc"
)

func TestImageHasAllContainers(t *testing.T) {
	head := func(metadata string) string {
		return string(binary.BigEndian.AppendUint64([]byte("gVisorSF"), uint64(len(metadata)))) + metadata + "kernel"
	}
	for text, want := range map[string]bool{
		head(`{"container_count":"2"}`):    true,
		head(`{"container_count":"3"}`):    true,
		head(`{"container_count":"1"}`):    false,
		head(`{}`):                         true,
		"another format":                   true,
		"gVisorSF\xff\xff\xff\xff\xff\xff": true,
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "checkpoint.img"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := runsc.CheckImage(folder, []string{"worker"}); (err == nil) != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
