package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// load reads files that exist only in the test, in the order of their names
// in list.
func load(t testing.TB, files map[string]string, list ...string) *idl.Schema {
	t.Helper()
	s, err := thriftidl.Reader{Open: func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}}.Load(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGenerateErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		list  []string
		want  string
	}{
		"stream of numbers": {map[string]string{"a.thrift": "struct A {}\nservice S {\n  void ok()\n  stream<i32> f(1: A a)\n}"}, []string{"a.thrift"},
			"a.thrift:4:15: method S.f streams: its result must be a struct"},
		"stream of a union": {map[string]string{"a.thrift": "struct A {}\nunion U { 1: A a }\nservice S { A f(1: stream<U> u) }"}, []string{"a.thrift"},
			"a.thrift:3:30: method S.f streams: its argument must be a struct"},
		"stream without an argument": {map[string]string{"a.thrift": "struct A {}\nservice S { stream<A> f() }"}, []string{"a.thrift"},
			"a.thrift:2:13: method S.f streams: it must have one argument"},
		"kitex stream that throws": {map[string]string{"a.thrift": "struct A {}\nexception E {}\nservice S { A f(1: A a) throws (1: E e) (streaming.mode = 'client') }"}, []string{"a.thrift"},
			"a.thrift:3:38: method S.f streams: it cannot throw; the errors of a stream have codes"},
		"one namespace, one name": {map[string]string{"a.thrift": "namespace go n\nstruct A {}", "b.thrift": "namespace go n\nenum A { X }"},
			[]string{"b.thrift", "a.thrift"}, "b.thrift:2:6: enum A: the Go package n has A already, from struct A of a.thrift: rename one of them, or give one of the files another namespace go"},
		"one namespace, one Go name": {map[string]string{"a.thrift": "namespace go n\nstruct a_b {}", "b.thrift": "namespace go n\nstruct Other {}\nstruct aB {}"},
			[]string{"b.thrift", "a.thrift"}, "b.thrift:3:8: struct aB: the Go package n has AB already, from struct a_b of a.thrift: rename"},
		"one namespace, made names": {map[string]string{"a.thrift": "namespace go n\nstruct AClient {}", "b.thrift": "namespace go n\nservice A {}"},
			[]string{"b.thrift", "a.thrift"}, "b.thrift:2:9: service A: the Go package n has AClient already, from struct AClient of a.thrift: rename"},
		"one namespace, short names": {map[string]string{"a.thrift": "namespace go n\nservice A {}", "b.thrift": "namespace go n\nservice B {}"}, []string{"b.thrift", "a.thrift"},
			`b.thrift:2:9: service B: the Go package n has Dial, NewClient, Service, Unimplemented already, from service A of a.thrift: each is the only service of its file: write (go.short = "false") behind all but one, or give -long`},
		"one file name": {map[string]string{"x/a.thrift": "namespace go n", "y/a.thrift": "namespace go n"},
			[]string{"x/a.thrift", "y/a.thrift"}, "y/a.thrift: x/a.thrift is in the Go package n as well: both would be a.thrift.go"},
		"import cycle": {map[string]string{"a1.thrift": "namespace go a\ninclude \"b.thrift\"", "b.thrift": "namespace go b\ninclude \"a2.thrift\"", "a2.thrift": "namespace go a"},
			[]string{"a1.thrift"}, "b.thrift:2:9: Go packages would import each other: a1.thrift (a) includes b.thrift (b), b.thrift (b) includes a2.thrift (a)"},
		"endless default": {map[string]string{"a.thrift": "struct A { 1: B b = {} }\nstruct B { 1: list<A> a = [{}] }"}, []string{"a.thrift"},
			"a.thrift:1:8: the defaults of A need a A: making one would never end"},
		"endless default, needed twice": {map[string]string{"a.thrift": "struct A { 1: list<A> a = [{}, {}], 2: list<A> b = [{}] }"}, []string{"a.thrift"},
			"a.thrift:1:8: the defaults of A need a A: making one would never end"},
		"no import path": {map[string]string{"a.thrift": "include \"b.thrift\"\nstruct A { 1: b.B b }", "b.thrift": "struct B {}"}, []string{"a.thrift"},
			"a.thrift: a.thrift imports the Go package b: give -prefix, or an output directory below a go.mod"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Config{}.Generate(load(t, c.files, c.list...))
			if err == nil || strings.Count(err.Error(), c.want) != 1 {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// The order in which files are named must not show in what is written.
func TestDeterministic(t *testing.T) {
	paths, err := filepath.Glob("testdata/idl/*.thrift")
	if err != nil || len(paths) < 5 {
		t.Fatal(err, paths)
	}
	var first []File
	for range 8 {
		rand.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		s, err := thriftidl.Reader{}.Load(paths...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Config{Prefix: "github.com/limosa-rpc/limosa/gen/testdata/golden"}.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if got[i] != first[i] {
				t.Fatalf("%s differs", got[i].Path)
			}
		}
	}
	for _, f := range first {
		if src, err := format.Source([]byte(f.Content)); err != nil || string(src) != f.Content {
			t.Errorf("%s is not as gofmt has it: %v", f.Path, err)
		}
		want, err := os.ReadFile(filepath.Join("testdata/golden", f.Path))
		if err != nil || string(want) != f.Content {
			t.Errorf("testdata/golden/%s is stale: go generate ./gen", f.Path)
		}
	}
}

func TestPackageDir(t *testing.T) {
	for text, want := range map[string]string{
		"namespace go a.b.c":               "a/b/c",
		"namespace * x.y":                  "x/y",
		"namespace * x\nnamespace go y":    "y",
		"namespace py x":                   "my_file",
		"namespace go a.main":              "a/main_",
		"namespace go type":                "type_",
		"namespace go a\nnamespace go b.c": "b/c",
	} {
		s := load(t, map[string]string{"dir/My-File.thrift": text}, "dir/My-File.thrift")
		if got := packageDir(s.Files[0]); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"id": "ID", "user_id": "UserID", "url": "URL", "userId": "UserId", "http_server_url": "HTTPServerURL",
		"SECOND_CHANCE": "SecondChance", "XML": "XML", "a__b": "AB", "trailing_": "Trailing_", "_1": "X1", "__": "X__", "f_1_2": "F1_2", "i32": "I32",
	} {
		if got := camel(in); got != want {
			t.Errorf("camel(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"URLService": "urlService", "Hello": "hello", "ID": "id", "A": "a", "HTTP2": "http2"} {
		if got := lowerFirst(in); got != want {
			t.Errorf("lowerFirst(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"hello": "hello", "a-b": "a_b", "x_test": "x_test_idl", "x_linux": "x_linux_idl",
		"x_amd64.v2": "x_amd64_idl.v2", "_x": "x_x", "linux": "linux",
	} {
		if got := outName(in); got != want {
			t.Errorf("outName(%s) = %s, want %s", in, got, want)
		}
	}
}

// run runs the command in dir.
func run(dir string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Command{Dir: dir, Stdout: &out, Stderr: &errs}.Run(args)
	return code, out.String(), errs.String()
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "// a module\nmodule example.com/m // here\n\ngo 1.26\n")
	put(t, filepath.Join(dir, "idl/a.thrift"), "namespace go x.a\ninclude \"b.thrift\"\nstruct A { 1: b.B b, i32 noid }")
	put(t, filepath.Join(dir, "idl/sub/c.thrift"), "namespace go c\ninclude \"b.thrift\"\nstruct C { 1: b.B b }")
	put(t, filepath.Join(dir, "inc/b.thrift"), "namespace go b\nstruct B {}")
	put(t, filepath.Join(dir, "bad.thrift"), "struct A { 1: Nope x }")

	steps := []struct {
		args string
		code int
		want string // in what is printed
	}{
		{"", 2, "no file is given"},
		{"-h", 0, "usage: limosa-gen"},
		{"-nope idl", 2, "flag provided but not defined: -nope"},
		{"gone.thrift", 2, "gone.thrift: no such file or directory"},
		{"-out out bad.thrift", 1, "bad.thrift:1:15: unknown type Nope"},
		{"-out out idl", 1, `cannot include "b.thrift"`},
		{"-check -I inc -out out idl", 1, "out/b/b.thrift.go: missing"},
		{"-I inc -out out idl", 0, "warning: "},
		{"-q -I inc -out out idl", 0, ""},
		{"-q -check -I inc -out out idl", 0, ""},
		{"-q -check -prefix other -I inc -out out idl", 1, "out/x/a/a.thrift.go: stale"},
	}
	for _, s := range steps {
		code, stdout, stderr := run(dir, strings.Fields(s.args)...)
		if code != s.code || !strings.Contains(stdout+stderr, s.want) || s.want == "" && stdout+stderr != "" {
			t.Errorf("limosa-gen %s: exit %d\n%s%s\nwant %d and %q", s.args, code, stdout, stderr, s.code, s.want)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "out/x/a/a.thrift.go"))
	if err != nil || !strings.Contains(string(got), `"example.com/m/out/b"`) {
		t.Errorf("import path: %v\n%s", err, got)
	}
	if _, err := os.Stat(filepath.Join(dir, "out/c/c.thrift.go")); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out/*/*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	// A file of the user is not overwritten.
	own := filepath.Join(dir, "out/b/b.thrift.go")
	put(t, own, "package b\n")
	if code, _, stderr := run(dir, "-q", "-I", "inc", "-out", "out", "idl"); code != 1 || !strings.Contains(stderr, "not written by limosa-gen") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestPluginProgram is no test: it is the plug-in that TestPlugin runs.
func TestPluginProgram(t *testing.T) {
	if os.Getenv("GEN_TEST_PLUGIN") == "" {
		t.Skip("it is run by TestPlugin")
	}
	os.Stdout.WriteString(os.Getenv("GEN_TEST_PLUGIN"))
	os.Exit(0)
}

func TestPlugin(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		output string
		code   int
		want   string
	}{
		"writes":   {`[{"path":"extra/a.txt","content":"hi"}]`, 0, ""},
		"escapes":  {`[{"path":"../a.txt","content":"hi"}]`, 1, `the path "../a.txt" leads out of the output directory`},
		"absolute": {`[{"path":"/tmp/limosa-gen-test.txt","content":"hi"}]`, 1, "leads out"},
		"link":     {`[{"path":"link/a.txt","content":"hi"}]`, 1, "escapes"},
		"twice":    {`[{"path":"a/a.thrift.go","content":"hi"}]`, 1, "is written already"},
		"no JSON":  {`hello`, 1, "not a JSON list"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "a.thrift"), "struct A {}")
			if err := os.MkdirAll(filepath.Join(dir, "out"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(dir, filepath.Join(dir, "out/link")); err != nil {
				t.Skip("symbolic links are not to be had:", err)
			}
			t.Setenv("GEN_TEST_PLUGIN", c.output)
			code, _, stderr := run(dir, "-out", "out", "-plugin", self+" -test.run=^TestPluginProgram$", "a.thrift")
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d: %s; want %d and %q", code, stderr, c.code, c.want)
			}
			got, err := os.ReadFile(filepath.Join(dir, "out/extra/a.txt"))
			if (c.code == 0) != (err == nil && string(got) == "hi") {
				t.Errorf("extra/a.txt: %q, %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
				t.Error("it wrote outside of the output directory")
			}
		})
	}
}

func TestPluginFails(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.thrift"), "struct A {}")
	if code, _, stderr := run(dir, "-out", "out", "-plugin", "no-such-program-anywhere", "a.thrift"); code != 1 || !strings.Contains(stderr, `plug-in "no-such-program-anywhere"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("files were written although the plug-in failed")
	}
}

// FuzzGenerate: whatever the parser takes gives Go, or an error with a place.
func FuzzGenerate(f *testing.F) {
	for _, name := range []string{"hello", "clash", "shared"} {
		text, err := os.ReadFile("testdata/idl/" + name + ".thrift")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		for _, part := range strings.Split(string(text), "\n\n") {
			f.Add(part)
		}
	}
	other, err := os.ReadFile("testdata/idl/shared.thrift")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := thriftidl.Reader{Open: func(path string) ([]byte, error) {
			switch path {
			case "a.thrift":
				return []byte(text), nil
			case "shared.thrift":
				return other, nil
			}
			return nil, fs.ErrNotExist
		}}.Load("a.thrift")
		if err != nil {
			return
		}
		if _, err := (Config{Prefix: "example.com"}).Generate(s); err != nil {
			if _, ok := err.(idl.Errors); !ok {
				t.Fatal(err)
			}
		}
	})
}

// A large union is as long as its IDL, not as long as the square of that.
func TestLargeUnion(t *testing.T) {
	var b strings.Builder
	b.WriteString("union U {\n")
	const n = 1000
	for i := range n {
		fmt.Fprintf(&b, "%d: i32 f%[1]d\n", i+1)
	}
	b.WriteString("}")
	files, err := Config{}.Generate(load(t, map[string]string{"a.thrift": b.String()}, "a.thrift"))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(files[0].Content) + len(files[1].Content); got > 200*n {
		t.Errorf("%d bytes of Go for %d variants", got, n)
	}
}
