package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/pluginpb"
)

// request has three files, of which one is to be generated; it imports the two others.
func request(t testing.TB, parameter string) *pluginpb.CodeGeneratorRequest {
	t.Helper()
	req := new(pluginpb.CodeGeneratorRequest)
	err := prototext.Unmarshal([]byte(`
		file_to_generate: "shop/v1/shop.proto"
		proto_file { name: "dep/dep.proto" syntax: "proto3" package: "dep" options { go_package: "example.com/dep" }
			message_type { name: "D" } }
		proto_file { name: "shop/v1/shop.proto" syntax: "proto3" package: "shop.v1" dependency: "dep/dep.proto" dependency: "google/protobuf/timestamp.proto"
			options { go_package: "example.com/shop/gen/shop/v1;shopv1" }
			message_type { name: "M" field { name: "d" number: 1 type: TYPE_MESSAGE type_name: ".dep.D" label: LABEL_OPTIONAL }
				field { name: "t" number: 2 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL } }
			service { name: "S" method { name: "Get" input_type: ".shop.v1.M" output_type: ".shop.v1.M" } } }`), req)
	if err != nil {
		t.Fatal(err)
	}
	req.ProtoFile = append([]*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto)}, req.ProtoFile...)
	req.Parameter = proto.String(parameter)
	return req
}

// ask runs the plug-in as protoc does.
func ask(t testing.TB, req *pluginpb.CodeGeneratorRequest) *pluginpb.CodeGeneratorResponse {
	t.Helper()
	raw, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(bytes.NewReader(raw), &out); err != nil {
		t.Fatal(err)
	}
	res := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(out.Bytes(), res); err != nil {
		t.Fatal(err)
	}
	return res
}

// Each option puts the two files where it says, and only files that are asked for are
// made; what they import is imported by its own path.
func TestOptions(t *testing.T) {
	for parameter, want := range map[string]string{
		"":                             "example.com/shop/gen/shop/v1/shop.proto.go package shopv1 example.com/dep",
		"paths=import":                 "example.com/shop/gen/shop/v1/shop.proto.go package shopv1 example.com/dep",
		"paths=source_relative":        "shop/v1/shop.proto.go package shopv1 example.com/dep",
		"module=example.com/shop/gen":  "shop/v1/shop.proto.go package shopv1 example.com/dep",
		"module=example.com/shop/gen/": "shop/v1/shop.proto.go package shopv1 example.com/dep",
		"prefix=example.com/shop/gen":  "shop/v1/shop.proto.go package shopv1 example.com/shop/gen/dep",
		"prefix=other.com/x":           "shop/v1/shop.proto.go package v1 other.com/x/dep",
		"Mdep/dep.proto=other.com/d;d,paths=source_relative":         "shop/v1/shop.proto.go package shopv1 other.com/d",
		"Mshop/v1/shop.proto=example.com/b;c,Mdep/dep.proto=x.com/d": "example.com/b/shop.proto.go package c x.com/d",
		"Mshop/v1/shop.proto=example.com/b;c,module=example.com":     "b/shop.proto.go package c example.com/dep",
		" long , paths=source_relative":                              "shop/v1/shop.proto.go package shopv1 example.com/dep",
	} {
		res := ask(t, request(t, parameter))
		if res.Error != nil || len(res.File) != 2 {
			t.Errorf("%q: %v, %d files", parameter, res.GetError(), len(res.File))
			continue
		}
		types, codec := res.File[1], res.File[0]
		if codec.GetName() != strings.TrimSuffix(types.GetName(), ".go")+".codec.go" {
			t.Errorf("%q: %s", parameter, codec.GetName())
		}
		words := strings.Fields(want)
		for _, part := range []string{"\n" + words[1] + " " + words[2] + "\n", "\"" + words[3] + "\"\n", `"github.com/limosa-rpc/limosa/protobuf/known"`} {
			if types.GetName() != words[0] || !strings.Contains(types.GetContent(), part) {
				t.Errorf("%q: %s has no %q", parameter, types.GetName(), part)
			}
		}
		if short := strings.Contains(types.GetContent(), "\nfunc Service("); short == strings.Contains(parameter, "long") {
			t.Errorf("%q: short names: %t", parameter, short)
		}
	}
}

// What is wrong is told in the answer.
func TestErrors(t *testing.T) {
	for parameter, want := range map[string]string{
		"paths=here":                     "unknown option paths=here: it is import or source_relative",
		"plugins=grpc":                   `unknown option "plugins=grpc": there are paths, module, prefix, long and MFILE=PATH`,
		"M=x":                            `unknown option "M=x": there are paths, module, prefix, long and MFILE=PATH`,
		"long=false":                     `unknown option "long=false": there are paths, module, prefix, long and MFILE=PATH`,
		"module=m,paths=source_relative": "module goes with paths=import only",
		"module=other.com":               "shop/v1/shop.proto: its Go package example.com/shop/gen/shop/v1 is not below the module other.com",
	} {
		if res := ask(t, request(t, parameter)); res.GetError() != want || len(res.File) > 0 {
			t.Errorf("%q: %s\nwant %s", parameter, res.GetError(), want)
		}
	}
	req := request(t, "")
	req.ProtoFile[2].Options = nil
	if res := ask(t, req); res.GetError() != "shop/v1/shop.proto: it says no go_package, and no option Mshop/v1/shop.proto=PATH says one" {
		t.Error(res.GetError())
	}
	req = request(t, "")
	req.ProtoFile = req.ProtoFile[1:]
	if res := ask(t, req); res.GetError() != `shop/v1/shop.proto: could not resolve import "google/protobuf/timestamp.proto": not found` {
		t.Error(res.GetError())
	}
	if err := run(strings.NewReader("hello"), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "it is run by protoc or buf") {
		t.Errorf("%v", err)
	}
}

// The plug-in tells protoc what it can read.
func TestFeatures(t *testing.T) {
	res := ask(t, request(t, ""))
	if res.GetSupportedFeatures() != 3 || res.GetMinimumEdition() != 998 || res.GetMaximumEdition() != 1001 {
		t.Errorf("%d, %d to %d", res.GetSupportedFeatures(), res.GetMinimumEdition(), res.GetMaximumEdition())
	}
}

// buf, where it is installed, makes the types of package gen's goldens with the plug-in. What
// programs carry of a descriptor has the features of edition 2024, and floats as buf
// writes them; so files of codecs are not compared.
func TestBuf(t *testing.T) {
	buf, err := exec.LookPath("buf")
	if err != nil {
		t.Skip("SKIPPED: there is no buf here; npm install @bufbuild/buf has one")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "protoc-gen-limosa"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	protos, err := filepath.Abs("../testdata/proto")
	if err != nil {
		t.Fatal(err)
	}
	template := fmt.Sprintf(`{"version": "v2", "inputs": [{"directory": %q}], "plugins": [{"local": "protoc-gen-limosa", "out": "out", "strategy": "all", "opt": "prefix=%s"}]}`,
		protos, "github.com/limosa-rpc/limosa/gen/testdata/goldenproto")
	cmd := exec.Command(buf, "generate", "--template", template)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	golden, compared := os.DirFS("../testdata/goldenproto"), 0
	err = fs.WalkDir(golden, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".codec.go") {
			return err
		}
		want, err := fs.ReadFile(golden, name)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, "out", name))
		compared++
		if withoutSum(got) != withoutSum(want) {
			t.Errorf("%s: %v, or it differs", name, err)
		}
		return nil
	})
	if err != nil || compared < 10 {
		t.Errorf("%v, %d files", err, compared)
	}
}

// withoutSum leaves out the second line, which is a hash of the descriptor.
func withoutSum(src []byte) string {
	lines := strings.SplitN(string(src), "\n", 3)
	return lines[0] + lines[len(lines)-1]
}
