package e2e

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkPushLayer pushes programs, which compress as the layers of builds do.
func BenchmarkPushLayer(b *testing.B) {
	path, err := program()
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	own := startRegistry(b, registryOptions{})
	p := startPlane(b, own.settings(b)...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		got, err := p.send("PUT", "/v1/layers?repository=team/app", strings.NewReader(string(text)))
		if err != nil || got.status != 200 {
			b.Fatalf("%v %v", got, err)
		}
	}
}
