// Command generate makes the Go code of echo.proto without protoc: it parses
// the file itself and runs the plugins that go.mod names as tools.
//
//	go generate ./echo
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := generate("echo.proto"); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(name string) error {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}, SourceInfoMode: protocompile.SourceInfoStandard}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{name}, Parameter: proto.String("paths=source_relative")}
	for _, f := range files {
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(f))
	}
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc", "protoc-gen-go-drpc", "protoc-gen-connect-go"} {
		if err := run(plugin, input); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// run feeds a plugin and writes the files that it answers with.
func run(plugin string, input []byte) error {
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return err
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(output, response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, f := range response.File {
		if err := writeFile(f.GetName(), f.GetContent()); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(content), 0o666)
}
