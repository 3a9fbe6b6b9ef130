// Command generate writes the Go types of ../proto into ../internal/gen. It needs no protoc, because the compiler and
// the generator are Go modules. With --check it writes nothing and fails if the committed files differ.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/pluginpb"

	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
)

const (
	module = "sandlot.dev/runtime"
	root   = ".."
)

var sources = []string{"process/process.proto", "filesystem/filesystem.proto", "sandboxd/process.proto"}

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for name, content := range files {
		if err := settle(filepath.Join(root, name), content, *check); err != nil {
			log.Fatal(err)
		}
	}
}

func settle(path string, content []byte, check bool) error {
	if check {
		present, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(present, content) {
			return fmt.Errorf("%s does not match the .proto files: run `go run .` in runtime/generate and commit", path)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// generate returns the generated files by their path below the module.
func generate() (map[string][]byte, error) {
	request, err := compile()
	if err != nil {
		return nil, err
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		return nil, err
	}
	for _, file := range plugin.Files {
		if file.Generate {
			gengo.GenerateFile(plugin, file)
		}
	}
	response := plugin.Response()
	if response.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", *response.Error)
	}
	files := map[string][]byte{}
	for _, file := range response.File {
		files[strings.TrimPrefix(file.GetName(), module+"/")] = []byte(file.GetContent())
	}
	return files, nil
}

func compile() (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{filepath.Join(root, "proto")},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), sources...)
	if err != nil {
		return nil, err
	}
	all := []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(emptypb.File_google_protobuf_empty_proto),
		protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto),
	}
	for _, file := range compiled {
		all = append(all, protodesc.ToFileDescriptorProto(protoreflect.FileDescriptor(file)))
	}
	return &pluginpb.CodeGeneratorRequest{FileToGenerate: sources, ProtoFile: all}, nil
}
