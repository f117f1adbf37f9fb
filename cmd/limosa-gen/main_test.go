package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/cmd/protoparse"
	"github.com/limosa-rpc/limosa/gen"
	"github.com/limosa-rpc/limosa/idl"
)

// generate runs the command.
func generate(args ...string) (code int, output string) {
	var out strings.Builder
	code = run(args, &out, &out)
	return code, out.String()
}

// What lies in the repository is what the command makes: the goldens of package gen, and
// the well-known types.
func TestGoldens(t *testing.T) {
	for _, args := range []string{
		"-check -out ../../gen/testdata/goldenproto ../../gen/testdata/proto",
		"-check -out ../../gen/testdata/golden ../../gen/testdata/idl",
		"-check -out ../../protobuf ../../protobuf/known/idl",
	} {
		if code, out := generate(append([]string{"-q"}, strings.Fields(args)...)...); code != 0 {
			t.Errorf("%s: exit code %d: go generate ./gen ./protobuf/known\n%s", args, code, out)
		}
	}
}

// put writes files below a new directory.
func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// written lists the Go files below a directory, those of codecs left out.
func written(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".proto.go") {
			rel, err := filepath.Rel(dir, p)
			list = append(list, filepath.ToSlash(rel))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Which folder and package a file goes to, by its go_package, its package and -M.
func TestPlaces(t *testing.T) {
	file := func(pkg, option string) string {
		text := "syntax = 'proto3';"
		if pkg != "" {
			text += "package " + pkg + ";"
		}
		if option != "" {
			text += "option go_package = '" + option + "';"
		}
		return text + "message M {}"
	}
	for name, c := range map[string]struct {
		files       map[string]string
		flags, want string
		pkg         string // of the first file
	}{
		"below the prefix":         {map[string]string{"a.proto": file("p", "example.com/x/gen/shop/v1")}, "", "shop/v1/a.proto.go", "v1"},
		"with a name":              {map[string]string{"a.proto": file("p", "example.com/x/gen/shop/v1;shopv1")}, "", "shop/v1/a.proto.go", "shopv1"},
		"the prefix itself":        {map[string]string{"a.proto": file("p", "example.com/x/gen")}, "", "a.proto.go", "gen"},
		"of another module":        {map[string]string{"a.proto": file("google.type", "google.golang.org/genproto/type;typepb")}, "", "google/type_/a.proto.go", "type_"},
		"a path of no module":      {map[string]string{"a.proto": file("p", "./shop;s")}, "", "shop/a.proto.go", "s"},
		"only the package":         {map[string]string{"a.proto": file("shop.v1", "")}, "", "shop/v1/a.proto.go", "v1"},
		"nothing":                  {map[string]string{"My-File.proto": file("", "")}, "", "my_file/My_File.proto.go", "my_file"},
		"-M below":                 {map[string]string{"a.proto": file("p", "x.y/z")}, "-M a.proto=example.com/x/gen/b;c", "b/a.proto.go", "c"},
		"-M elsewhere":             {map[string]string{"a.proto": file("p", "")}, "-M a.proto=other.com/b", "", ""},
		"a copy of what is known":  {map[string]string{"a.proto": file("p", ""), "google/protobuf/empty.proto": "syntax='proto3'; package google.protobuf; message Empty {}"}, "", "p/a.proto.go", "p"},
		"a package of two folders": {map[string]string{"a/x.proto": file("p.a", "example.com/x/gen/p"), "b/y.proto": strings.ReplaceAll(file("p.b", "example.com/x/gen/p"), "M", "N")}, "", "p/x.proto.go p/y.proto.go", "p"},
	} {
		dir := put(t, c.files)
		out := filepath.Join(t.TempDir(), "out")
		args := append(strings.Fields("-prefix example.com/x/gen -I "+dir+" -out "+out+" "+c.flags), dir)
		code, text := generate(args...)
		if code != 0 {
			t.Errorf("%s: exit code %d\n%s", name, code, text)
			continue
		}
		got := written(t, out)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if first, _, _ := strings.Cut(got, " "); first != "" {
			src, err := os.ReadFile(filepath.Join(out, first))
			if err != nil || !strings.Contains(string(src), "\npackage "+c.pkg+"\n") {
				t.Errorf("%s: it is not of package %s: %v", name, c.pkg, err)
			}
		}
	}
}

// Names that two things would have, in all the ways of Protobuf. What the author wrote
// first keeps its name, and messages go before oneofs.
func TestNames(t *testing.T) {
	dir := put(t, map[string]string{"a.proto": `syntax = "proto3"; package p;
message Order { message Payment {} oneof payment { int32 a_b = 1; int32 A_b = 2 [json_name = "x"]; } string get_payment = 3; string proto_name = 4; Order_Item i = 5; message Item {} }
message Order_Item { enum Kind { KIND_A = 0; KIND_B = 1; } }
message interface { oneof type { string func = 1; interface range = 2; } }
message Odd { string a = 1 [json_name = "a,b"]; string b = 2 [json_name = "-"]; string c = 3 [json_name = "c.d"]; string unknown = 4; }
enum Num { NUM_1 = 0; NUM_2 = 1; }
enum One { ONE = 0; }
service A { rpc Close(Odd) returns (Odd); rpc do_it(Odd) returns (Odd); rpc DoIt(stream Odd) returns (Odd); }
service B { rpc Close(Odd) returns (stream Odd); }
`})
	out := t.TempDir()
	if code, text := generate("-prefix", "x", "-out", out, dir); code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	src, err := os.ReadFile(filepath.Join(out, "p/a.proto.go"))
	if err != nil {
		t.Fatal(err)
	}
	// Blanks differ with what stands beside a line.
	text := strings.Join(strings.Fields(string(src)), " ")
	for _, want := range []string{
		"type Order struct { Payment OrderPayment_ `proto:\"oneof,name=payment\" json:\"payment,omitempty\"`",
		"GetPayment string `proto:\"3,string,name=get_payment\"", "func (x *Order) GetPayment_() OrderPayment_",
		"ProtoName_ string", "I *OrderItem_ `proto:\"5,message,name=i\"", "type OrderItem_ struct",
		"AB int32 `proto:\"1,int32,name=a_b\" json:\"aB\"`", "AB int32 `proto:\"2,int32,name=A_b,json=x\" json:\"x\"`",
		"type Interface struct", "type InterfaceType interface",
		"A string `proto:\"1,string,name=a\" json:\"a,omitempty\"`", "B string `proto:\"2,string,name=b\" json:\"b,omitempty\"`", "C string `proto:\"3,string,name=c,json=c.d\" json:\"c.d,omitempty\"`",
		"Unknown string `proto:\"4,string,name=unknown\" json:\"unknown,omitempty\"` unknown []byte `proto:\"unknown\"`",
		"Num1 Num = 0", "OneONE One = 0", "OrderItemKindA OrderItemKind = 0",
		"Close_(ctx context.Context, req *Odd) (*Odd, error)", "DoIt(ctx context.Context, req *Odd) (*Odd, error)", "DoIt_(ctx context.Context, in iter.Seq2[*Odd, error]) (*Odd, error)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		fmt.Println(string(src))
	}
}

// What cannot be is told with its place, in the words of .proto files.
func TestErrors(t *testing.T) {
	file := func(pkg, rest string) string {
		return "syntax = 'proto3'; package " + pkg + "; option go_package = 'example.com/x/gen/p';\n" + rest
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"one name": {map[string]string{"a.proto": file("a", "message M {}"), "b.proto": file("b", "enum M { Z = 0; }")},
			"b.proto:2:6: enum M: the Go package p has M already, from struct M of DIR/a.proto: rename one of them, or give one of the files another go_package"},
		"made names":          {map[string]string{"a.proto": file("a", "message SClient {}"), "b.proto": file("b", "service S {}")}, "b.proto:2:9: service S: the Go package p has SClient already, from struct SClient of DIR/a.proto: rename"},
		"one file name":       {map[string]string{"a/x.proto": file("a", ""), "b/x.proto": file("b", "")}, "b/x.proto: DIR/a/x.proto is in the Go package p as well: both would be x.proto.go"},
		"a word that is none": {map[string]string{"a.proto": "syntax = 'proto3';\nmessag M {}"}, "a.proto:2:1: syntax error"},
	} {
		dir := put(t, c.files)
		code, out := generate("-prefix", "example.com/x/gen", "-I", dir, "-out", t.TempDir(), dir)
		if out = strings.ReplaceAll(out, dir, "DIR"); code != 1 || !strings.Contains(out, "DIR/"+c.want) {
			t.Errorf("%s: exit code %d: %s\nwant %s", name, code, out, c.want)
		}
	}
	// Two services of one Go package in separate runs.
	dir, out := put(t, map[string]string{"a.proto": file("a", "service S {}"), "b.proto": file("b", "service T {}")}), t.TempDir()
	if code, text := generate("-prefix", "example.com/x/gen", "-out", out, filepath.Join(dir, "a.proto")); code != 0 {
		t.Fatal(text)
	}
	code, text := generate("-prefix", "example.com/x/gen", "-out", out, filepath.Join(dir, "b.proto"))
	if code != 1 || !strings.Contains(text, "generate the files of one Go package in one run, or give -long") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, args := range []string{"-long", ""} {
		if code, text := generate(append(strings.Fields("-prefix example.com/x/gen -I "+dir+" -out "+t.TempDir()+" "+args), dir)...); code != 0 {
			t.Errorf("in one run %s: %s", args, text)
		}
	}
}

// A project that names this command in its go.mod gets three modules besides ours.
func TestModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Skipf("SKIPPED: there is no go command here: %v", err)
	}
	mods := strings.Fields(string(out))
	slices.Sort(mods)
	want := "github.com/bufbuild/protocompile github.com/limosa-rpc/limosa github.com/limosa-rpc/limosa/cmd golang.org/x/sync google.golang.org/protobuf"
	if got := strings.Join(slices.Compact(mods), " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Whatever parses gives Go that go/format takes, or an error with a place.
func FuzzGenerate(f *testing.F) {
	for _, text := range []string{
		"syntax = 'proto2'; package p; message M { optional group G = 1 { required int32 n = 1 [default = -1]; } oneof o { string s = 2; bytes b = 3 [default = '\\001']; } extensions 10 to max; } extend M { optional E e = 10 [default = B]; } enum E { A = 1; B = 2; }",
		"syntax = 'proto3'; package a.b; option go_package = 'x.y/z;w'; message M { map<string, M> m = 1 [json_name = '`']; optional M n = 2; } service S { rpc A(M) returns (stream M); rpc B(stream M) returns (M) { option deprecated = true; } }",
		"edition = '2023'; /* doc\n */ message type { float func = 1 [default = nan, features.field_presence = EXPLICIT]; uint64 u = 2 [default = 18446744073709551615]; }",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := protoparse.Reader{Open: func(path string) ([]byte, error) {
			if path == "a.proto" {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}}
		s, err := r.Load("a.proto")
		if err != nil {
			return
		}
		_, err = gen.Config{Prefix: "x"}.Generate(s)
		if _, ok := errors.AsType[idl.Errors](err); err != nil && !ok {
			t.Errorf("%v", err)
		}
	})
}
