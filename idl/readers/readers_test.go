package readers_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/readers"
)

// from has files in memory.
func from(files map[string]string) readers.Source {
	return readers.Source{Include: []string{"inc"}, Open: func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
}

// toy is the reader of a second IDL: a file is a list of structs' names.
func toy(from readers.Source, paths []string) (*idl.Schema, error) {
	s := new(idl.Schema)
	for _, p := range paths {
		text, err := from.Open(p)
		if err != nil {
			return nil, idl.Errors{{Path: p, Msg: err.Error()}}
		}
		f := &idl.File{Path: p, Language: "toy", Text: string(text)}
		for name := range strings.FieldsSeq(string(text)) {
			f.Structs = append(f.Structs, &idl.Struct{Name: name})
		}
		s.Files = append(s.Files, f)
		s.Warnings = append(s.Warnings, &idl.Error{Path: p, Msg: "only a toy"})
	}
	return s, nil
}

func names(s *idl.Schema) (of []string) {
	for _, f := range s.Files {
		for _, d := range f.Structs {
			of = append(of, f.Path+":"+d.Name)
		}
	}
	return of
}

// A second IDL joins by an entry: files go to their reader, includes are searched, and
// what the readers give is one schema.
func TestSecondIDL(t *testing.T) {
	set := readers.Builtin()
	set[".toy"] = toy
	src := from(map[string]string{"a.thrift": "include 'b.thrift'\nstruct A { 1: b.B b }", "inc/b.thrift": "struct B {}", "c.toy": "C D"})
	s, err := set.Load(src, "c.toy", "a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(s); !slices.Equal(got, []string{"inc/b.thrift:B", "a.thrift:A", "c.toy:C", "c.toy:D"}) || len(s.Warnings) != 1 {
		t.Errorf("%v, %v", got, s.Warnings)
	}
	if set.String() != ".thrift or .toy" || !set.Reads("x/y.toy") || set.Reads("y.proto") || set.Reads("toy") || set.Reads("") {
		t.Errorf("%s; %v", set, set.Endings())
	}
	if other := readers.Builtin(); other.Reads("c.toy") || other.String() != ".thrift" {
		t.Errorf("a set that was changed is another's too: %s", other)
	}
}

// In does not go further down, and leaves out what has no reader.
func TestIn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.thrift", "a.thrift", "a.proto", "sub/c.thrift", "dir.thrift/x"} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(dir, "a.thrift"), filepath.Join(dir, "b.thrift")}
	if got := readers.Builtin().In(dir); !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if got := readers.Builtin().In(filepath.Join(dir, "none")); got != nil {
		t.Errorf("of no directory: %v", got)
	}
}

// A tree is gone through in one order, and hidden directories are not, but one that is
// asked for.
func TestBelow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".idl")
	for _, name := range []string{"b.thrift", "a.thrift", "a.proto", ".c.thrift", "sub/d.thrift", "sub/.git/e.thrift", ".f/sub/g.thrift"} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if got, want := readers.Hidden(name), strings.Contains(name, "/") && name != "sub/d.thrift"; got != want {
			t.Errorf("Hidden(%s) = %v", name, got)
		}
	}
	want := []string{".c.thrift", "a.thrift", "b.thrift", "sub/d.thrift"}
	got, err := readers.Builtin().Below(dir)
	for i := range got {
		got[i], _ = filepath.Rel(dir, got[i])
		got[i] = filepath.ToSlash(got[i])
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := readers.Builtin().Below(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no directory: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	both := readers.Set{".thrift": readers.Thrift, ".toy": toy}
	src := from(map[string]string{"a.thrift": "struct {", "b.toy": "B", "c.txt": "struct C {}"})
	for name, c := range map[string]struct {
		set   readers.Set
		paths []string
		want  string
		idl   bool // with a place in a file
	}{
		"a mistake":            {both, []string{"b.toy", "a.thrift"}, "a.thrift:1:8", true},
		"no such file":         {both, []string{"x.toy"}, "x.toy", true},
		"an unknown ending":    {both, []string{"b.toy", "c.txt"}, "c.txt: its name does not end with .thrift or .toy", false},
		"no reader at all":     {nil, []string{"a.thrift"}, "a.thrift: its name does not end with", false},
		"a name without a dot": {both, []string{"thrift"}, "thrift: its name does not end with", false},
	} {
		s, err := c.set.Load(src, c.paths...)
		_, placed := errors.AsType[idl.Errors](err)
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) || placed != c.idl {
			t.Errorf("%s: %v, %v; want %s", name, s, err, c.want)
		}
	}
	// Where there is one IDL, a file may be called anything.
	if s, err := readers.Builtin().Load(src, "c.txt"); err != nil || len(s.Files) != 1 {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := both.Load(src); err != nil || len(s.Files) != 0 {
		t.Errorf("no files: %v, %v", s, err)
	}
}
