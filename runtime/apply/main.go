// Command apply lays a layer from its input onto a folder, as containerd unpacks images: `apply FOLDER`. Tests of the layers start it.
package main

import (
	"context"
	"log"
	"os"

	"github.com/containerd/containerd/v2/pkg/archive"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: apply FOLDER < LAYER")
	}
	if _, err := archive.Apply(context.Background(), os.Args[1], os.Stdin); err != nil {
		log.Fatal(err)
	}
}
