package gen

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/readers"
)

// toyBackend is a backend for an IDL that is not Thrift, in the shape that one for
// Protobuf has: a method's messages are those of the IDL, and no field has a tag of
// Thrift's. Nothing of Thrift's may be needed for it.
type toyBackend struct {
	g       *generator
	checked []string // the files, in the order of check
}

func (b *toyBackend) suffix() string               { return ".toy" }
func (b *toyBackend) traits() traits               { return traits{presets: true, zeros: true} }
func (b *toyBackend) place(f *idl.File) place      { return folder(packageDir(f)) }
func (b *toyBackend) adds(*idl.File) []*idl.Struct { return nil }
func (b *toyBackend) hidden(*idl.Struct) []string  { return nil }
func (b *toyBackend) enumPrefix(*idl.Enum) string  { return "" }
func (b *toyBackend) reserved() []string           { return []string{"AppendToy"} }
func (b *toyBackend) nameStruct(f *file, s *idl.Struct) {
	b.g.names[key{s, "toy"}] = f.take("Toy"+b.g.names[key{s, ""}], "message "+s.Name, s.Pos)
}
func (b *toyBackend) nameMethod(*file, *idl.Service, *idl.Method) {}
func (b *toyBackend) check(f *file) {
	b.checked = append(b.checked, f.Name)
	for _, s := range f.Structs {
		for _, x := range s.Fields {
			if x.Type.True().Kind == idl.Set {
				b.g.errorf(f.File, x.Pos, "a toy has no sets")
			}
		}
	}
}
func (b *toyBackend) typ(*emitter, *idl.Type) string { return "" }
func (b *toyBackend) tag(f *idl.Field) string        { return fmt.Sprintf("toy:\"%d\"", f.ID) }
func (b *toyBackend) wire(*emitter) string           { return "toyCodec{}" }
func (b *toyBackend) face(e *emitter, s *idl.Struct) {
	e.p("type %s struct{ *%s }\n", e.name(s, "toy"), e.name(s, ""))
}
func (b *toyBackend) codec(e *emitter, s *idl.Struct) {
	e.p("func (x *%s) AppendToy(b []byte) []byte { return b }\n", e.name(s, ""))
}
func (b *toyBackend) messages(e *emitter, s *idl.Service, m *idl.Method) {
	e.use("rpc")
	e.use("stub")
	in, out := e.streamMessages(m)
	e.p("var %s = rpc.Method{Service: %q, Name: %q, Codec: %s, New: stub.New[%s, %s]}\n", e.name(m, "var"), s.Name, m.Name, b.wire(e), in, out)
}
func (b *toyBackend) serve(e *emitter, m *idl.Method) { e.p("return impl.%s", e.name(m, "")) }
func (b *toyBackend) call(e *emitter, s *idl.Service, m *idl.Method) {
	e.p("return toyCall(ctx, c.caller, &%s, %s)", e.name(m, "var"), e.name(m.Args[0], "param"))
}
func (b *toyBackend) note(types string) string             { return "// Toys of " + types + "." }
func (b *toyBackend) schema(f *file) (text, reader string) { return "toy " + f.Name, "toyidl.Read" }

// toySchema is what a reader of its own would give.
func toySchema(kind idl.Kind) *idl.Schema {
	f := &idl.File{Path: "idl/play.toy", Name: "play", Language: "toy", Text: "message Ball", Listed: true, Namespaces: []idl.Namespace{{Scope: "go", Name: "play"}}}
	ball := &idl.Struct{Name: "Ball", Kind: idl.PlainStruct, File: f, Pos: idl.Pos{Line: 1, Col: 9}, Fields: []*idl.Field{
		{ID: 1, Name: "size", Presence: idl.Implicit, Type: &idl.Type{Kind: idl.I32}},
		{ID: 2, Name: "color", Presence: idl.Optional, Type: &idl.Type{Kind: idl.String}},
		{ID: 3, Name: "append_toy", Presence: idl.Implicit, Type: &idl.Type{Kind: kind, Elem: &idl.Type{Kind: idl.I32}}, Pos: idl.Pos{Line: 1, Col: 20}},
	}}
	f.Structs = []*idl.Struct{ball}
	ref := func() *idl.Type { return &idl.Type{Kind: idl.StructRef, Struct: ball, Name: "Ball", File: f.Path} }
	f.Services = []*idl.Service{{Name: "Yard", File: f, Methods: []*idl.Method{
		{Name: "throw", Result: ref(), Args: []*idl.Field{{ID: 1, Name: "ball", Type: ref(), Presence: idl.Implicit}}},
		{Name: "juggle", Result: ref(), ServerStream: true, Args: []*idl.Field{{ID: 1, Name: "ball", Type: ref(), Presence: idl.Implicit}}},
	}}}
	return &idl.Schema{Files: []*idl.File{f}}
}

func generateToy(s *idl.Schema) ([]File, *toyBackend, error) {
	g := Config{Prefix: "x"}.generator()
	toy := &toyBackend{g: g}
	g.backs["toy"] = toy
	files, err := g.generate(s)
	return files, toy, err
}

// A second IDL needs a backend and nothing else: its files have its own suffix, tags,
// codec and messages, share types, getters, clients and servers with Thrift's, and
// know nothing of Thrift.
func TestSecondBackend(t *testing.T) {
	files, toy, err := generateToy(toySchema(idl.List))
	if err != nil || len(files) != 2 || files[0].Path != "play/play.toy.codec.go" || files[1].Path != "play/play.toy.go" || len(toy.checked) != 1 {
		t.Fatalf("%v, %v, %v", files, toy.checked, err)
	}
	codec, types := files[0].Content, files[1].Content
	for _, want := range []string{
		"Size       int32   `toy:\"1\" json:\"size\"`",
		"Color      *string `toy:\"2\" json:\"color,omitempty\"`",
		"AppendToy_ []int32 `toy:\"3\" json:\"append_toy\"`", // the method's name is taken
		"func (x *Ball) GetColor() string {",
		"type ToyBall struct{ *Ball }",
		"Throw(ctx context.Context, ball *Ball) (*Ball, error)",
		"Juggle(ctx context.Context, ball *Ball) iter.Seq2[*Ball, error]",
		"return toyCall(ctx, c.caller, &yardThrow, ball)",
	} {
		if !strings.Contains(types, want) {
			t.Errorf("types: no %s", want)
		}
	}
	for _, want := range []string{
		"// Toys of play.toy.go.",
		"func (x *Ball) AppendToy(b []byte) []byte { return b }",
		`var yardThrow = rpc.Method{Service: "Yard", Name: "throw", Codec: toyCodec{}, New: stub.New[Ball, Ball]}`,
		`Service: "Yard", Name: "juggle", Codec: toyCodec{}, Kind: rpc.ServerStream, New: stub.New[Ball, Ball],`,
		"// PlayIDL gives the IDL of this file; toyidl.Read reads it.",
		"return `toy play`",
	} {
		if !strings.Contains(codec, want) {
			t.Errorf("codec: no %s", want)
		}
	}
	if strings.Contains(strings.ToLower(types+codec), "thrift") {
		t.Errorf("it knows of Thrift:\n%s\n%s", types, codec)
	}
}

// What the wire has no form for is the backend's to say, before a line is written.
func TestBackendChecks(t *testing.T) {
	_, _, err := generateToy(toySchema(idl.Set))
	errs, ok := errors.AsType[idl.Errors](err)
	if !ok || len(errs) != 1 || errs[0].Head() != "idl/play.toy:1:20: a toy has no sets" {
		t.Errorf("%v", err)
	}
}

// Two IDLs in one run do not see each other; a file of a language without a backend
// is an error with its path.
func TestLanguagesInOneRun(t *testing.T) {
	thrift := load(t, map[string]string{"play.thrift": "namespace go play2\nstruct Ball { 1: i32 size }"}, "play.thrift")
	alone, err := Config{Prefix: "x"}.Generate(thrift)
	if err != nil {
		t.Fatal(err)
	}
	both, _, err := generateToy(&idl.Schema{Files: append(toySchema(idl.List).Files, thrift.Files...)})
	if err != nil || len(both) != 4 || both[2] != alone[0] || both[3] != alone[1] {
		t.Errorf("%v: %d files, or Thrift's differ", err, len(both))
	}
	_, err = Config{}.Generate(toySchema(idl.List))
	if err == nil || err.Error() != `idl/play.toy: there is no generator for files of the language "toy"` {
		t.Errorf("%v", err)
	}
}

// The command takes readers by the ending of files.
func TestReaders(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "idl/a.thrift"), "namespace go a\nstruct A {}")
	put(t, filepath.Join(dir, "idl/b.toy"), "not read by Thrift")
	put(t, filepath.Join(dir, "idl/c.txt"), "namespace go c\nstruct C {}")
	var got []string
	both := readers.Set{".thrift": readers.Thrift, ".toy": func(from readers.Source, paths []string) (*idl.Schema, error) {
		got = append(append(got, from.Include...), paths...)
		return nil, idl.Errors{{Path: paths[0], Pos: idl.Pos{Line: 1, Col: 1}, Msg: "a toy's error"}}
	}}
	for name, c := range map[string]struct {
		readers readers.Set
		args    string
		code    int
		stderr  string
	}{
		"a tree of both":        {both, "-I inc -prefix x -out out idl", 1, "DIR/idl/b.toy:1:1: a toy's error"},
		"one of both":           {both, "-prefix x -out out idl/a.thrift", 0, ""},
		"another ending":        {both, "-prefix x -out out idl/c.txt", 1, "limosa-gen: DIR/idl/c.txt: its name does not end with .thrift or .toy"},
		"any ending, one IDL":   {nil, "-prefix x -out out idl/c.txt", 0, ""},
		"a tree without a file": {readers.Set{".x": nil}, "-prefix x -out out idl", 2, "limosa-gen: DIR/idl: there is no .x file below it"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			code := Command{Dir: dir, Stdout: &out, Stderr: &errs, Readers: c.readers}.Run(strings.Fields(c.args))
			if stderr := strings.ReplaceAll(strings.TrimSpace(errs.String()), dir, "DIR"); code != c.code || stderr != c.stderr || out.String() != "" {
				t.Errorf("exit %d, want %d\n got %s\nwant %s", code, c.code, stderr, c.stderr)
			}
		})
	}
	if want := filepath.Join(dir, "inc") + " " + filepath.Join(dir, "idl/b.toy"); strings.Join(got, " ") != want {
		t.Errorf("the reader was given %s, want %s", got, want)
	}
}
