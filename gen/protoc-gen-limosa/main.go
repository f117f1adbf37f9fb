// Command protoc-gen-limosa is the plug-in that makes Limosa's Go code for protoc and
// buf:
//
//	protoc --limosa_out=gen --limosa_opt=paths=source_relative -I idl idl/shop/v1/*.proto
//
//	# buf.gen.yaml
//	plugins:
//	  - local: protoc-gen-limosa
//	    out: gen
//	    opt: module=example.com/shop/gen
//
// Its options, with commas between them, are those of protoc-gen-go and what limosa-gen
// has as flags:
//
//	paths=import           a package goes into the folder of its import path (the usual one)
//	paths=source_relative  beside its file
//	module=PATH            the output directory is that of PATH, which is left off import paths
//	prefix=PATH            packages are laid out as limosa-gen does it, below the import path PATH
//	MFILE=PATH[;NAME]      the Go package of a file, in place of its go_package
//	long                   no short names for the only service of a file
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/limosa-rpc/limosa/gen"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/protoidl"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "protoc-gen-limosa:", err)
		os.Exit(1)
	}
}

// run answers one request. Its error is one of reading and writing: what is wrong with the
// files stands in the answer, which protoc and buf show.
func run(in io.Reader, out io.Writer) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	req := new(pluginpb.CodeGeneratorRequest)
	if err := proto.Unmarshal(raw, req); err != nil {
		return fmt.Errorf("it is run by protoc or buf, which give it a request: %w", err)
	}
	raw, err = proto.Marshal(answer(req))
	if err != nil {
		return err
	}
	_, err = out.Write(raw)
	return err
}

// answer generates the files of a request.
func answer(req *pluginpb.CodeGeneratorRequest) *pluginpb.CodeGeneratorResponse {
	const features = pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL | pluginpb.CodeGeneratorResponse_FEATURE_SUPPORTS_EDITIONS
	res := &pluginpb.CodeGeneratorResponse{
		SupportedFeatures: proto.Uint64(uint64(features)),
		MinimumEdition:    proto.Int32(int32(descriptorpb.Edition_EDITION_PROTO2)),
		MaximumEdition:    proto.Int32(int32(descriptorpb.Edition_EDITION_2024)),
	}
	files, err := generate(req)
	if err != nil {
		res.Error = proto.String(told(err))
		return res
	}
	for _, f := range files {
		res.File = append(res.File, &pluginpb.CodeGeneratorResponse_File{Name: proto.String(f.Path), Content: proto.String(f.Content)})
	}
	return res
}

// generate makes the files that are asked for. The others of the request are there for their types only.
func generate(req *pluginpb.CodeGeneratorRequest) ([]gen.File, error) {
	config, err := options(req.GetParameter())
	if err != nil {
		return nil, err
	}
	schema, err := protoidl.Reader{}.Schema(&descriptorpb.FileDescriptorSet{File: req.GetProtoFile()}, req.GetFileToGenerate()...)
	if err != nil {
		return nil, err
	}
	return config.Generate(schema)
}

// options reads the parameter of a request.
func options(parameter string) (gen.Config, error) {
	c := gen.Config{Layout: gen.ByImport, OnlyListed: true, Packages: map[string]string{}}
	for word := range strings.SplitSeq(parameter, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		switch {
		case name == "":
		case name == "long" && (value == "" || value == "true"):
			c.Long = true
		case name == "module":
			c.Module = strings.TrimSuffix(value, "/")
		case name == "prefix":
			c.Prefix, c.Layout = strings.TrimSuffix(value, "/"), gen.BelowPrefix
		case name == "paths" && value == "import":
			c.Layout = gen.ByImport
		case name == "paths" && value == "source_relative":
			c.Layout = gen.BySource
		case name == "paths":
			return c, fmt.Errorf("unknown option paths=%s: it is import or source_relative", value)
		case name[0] == 'M' && len(name) > 1 && value != "":
			c.Packages[name[1:]] = value
		default:
			return c, fmt.Errorf("unknown option %q: there are paths, module, prefix, long and MFILE=PATH", word)
		}
	}
	if c.Module != "" && c.Layout != gen.ByImport {
		return c, errors.New("module goes with paths=import only")
	}
	return c, nil
}

// told shows an error as one line for each finding.
func told(err error) string {
	errs, ok := errors.AsType[idl.Errors](err)
	if !ok {
		return err.Error()
	}
	lines := make([]string, len(errs))
	for i, e := range errs {
		lines[i] = e.Head()
	}
	return strings.Join(lines, "\n")
}
