package thriftidl

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// repack packs a schema, reads that, and packs it again, which must change
// nothing.
func repack(t *testing.T, s *idl.Schema) *idl.Schema {
	t.Helper()
	name := func(f *idl.File) string { return "p/" + f.Path }
	pack := func(s *idl.Schema, name func(*idl.File) string) (text string) {
		for _, f := range s.Files {
			text += Pack(f, name)
		}
		return text
	}
	text := pack(s, name)
	back, err := Unpack(text + text) // what is there twice counts once
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if again := pack(back, func(f *idl.File) string { return f.Path }); again != text {
		t.Fatalf("packed:\n%s\nand again:\n%s", text, again)
	}
	return back
}

func TestPack(t *testing.T) {
	s, err := Reader{}.Load("testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	back := repack(t, s)
	plain := func(s *idl.Schema) string { // without what packing takes away
		for _, f := range s.Files {
			f.Path, f.Text, f.Doc, f.Includes, f.Listed = "", "", "", nil, false
		}
		s.Warnings = nil
		p, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, re := range []string{`,?"(doc|file|extends_file)":"([^"\\]|\\.)*"`, `,?"(pos|stream_pos|extends_pos)":\{[^}]*\}`} {
			p = regexp.MustCompile(re).ReplaceAll(p, nil)
		}
		return string(p)
	}
	if got, want := plain(back), plain(s); got != want {
		t.Errorf("packing changes the schema:\n%s\n%s", got, want)
	}
	for _, bad := range []string{"", "struct A {}", "#file a\nstruct", "#file a\ninclude \"gone\""} {
		if _, err := Unpack(bad); err == nil {
			t.Errorf("Unpack(%q) gives no error", bad)
		}
	}
}

// What packing takes away and what it keeps, whole.
func TestPackTexts(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "#file p/a.thrift\n\n",
		"// only a comment\n":                     "#file p/a.thrift\n\n",
		"/** doc */ struct  S { }":                "#file p/a.thrift\nstruct S{}\n",
		"namespace go a.b\nstruct S {}":           "#file p/a.thrift\nnamespace go a.b\nstruct S{}\n",
		"include \"b.thrift\" const i32 A = b.K":  "#file p/a.thrift\ninclude\"p/b.thrift\"\nconst i32 A=b.K\n",
		"const string S = 'it\\'s \"x\"\\n\\\\'":  "#file p/a.thrift\nconst string S=\"it's \\\"x\\\"\\n\\\\\"\n",
		"const double D = 1.5e10 const i8 N = -1": "#file p/a.thrift\nconst double D=1.5e10\nconst i8 N=-1\n",
		"struct S {\n  1: i32 a // first\n  2: required list< map<i8,S> > b (x = 'y')\n}": "#file p/a.thrift\nstruct S{1:i32 a 2:required list<map<i8,S>>b(x=\"y\")}\n",
		"enum E { A = 1, B }\nservice V { oneway void m(1: E e), E n() throws (1: X x) } exception X {}": "#file p/a.thrift\n" +
			"enum E{A=1,B}\nservice V{oneway void m(1:E e),E n()throws(1:X x)}\nexception X{}\n",
		"struct S { 1: i32 struct, 2: i32 enum }": "#file p/a.thrift\nstruct S{1:i32 struct,2:i32 enum}\n",
	} {
		s, err := load(map[string]string{"a.thrift": text, "b.thrift": "const i32 K = 1"}, "a.thrift")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := Pack(s.Files[len(s.Files)-1], func(f *idl.File) string { return "p/" + f.Path }); got != want {
			t.Errorf("%s\n gives %q\n want  %q", text, got, want)
		}
		repack(t, s)
	}
}

// Packed texts come from servers: each that is not right is an error, with a place
// where the text of a file is wrong.
func TestUnpackErrors(t *testing.T) {
	for packed, want := range map[string]string{
		"":                          "idl: the packed schema is empty",
		"\n":                        `idl: a packed schema begins with "#file " and a name`,
		"struct A {}":               `idl: a packed schema begins with "#file " and a name`,
		"#file":                     `idl: a packed schema begins with "#file " and a name`,
		"#file \n":                  `idl: "" is no name for a packed file`,
		"#file ../a\n":              `idl: "../a" is no name for a packed file`,
		"#file /a\n":                `idl: "/a" is no name for a packed file`,
		"#file a\nstruct":           `a:2:1: the end of the file where a type's name is expected`,
		"#file a\n1":                `a:1:1: "1" where a definition is expected`,
		"#file a\ninclude \"gone\"": `a:1:9: cannot include "gone": file does not exist`,
		"#file a\ninclude \"b\"\n#file b\ninclude \"a\"": "b:1:9: files include each other: a -> b -> a",
		"#file a\nstruct S {}\nstruct S {}":              "a:2:8: struct S: the name is taken in line 1",
		"#file a\n#file b\nstruct S { 1: a.T t }":        "b:1:15: unknown type a.T: nothing named a is included",
	} {
		s, err := Unpack(packed)
		if s != nil || err == nil {
			t.Errorf("%q gives %v and %v", packed, s, err)
			continue
		}
		if got, _, _ := strings.Cut(err.Error(), "\n"); got != want {
			t.Errorf("%q\n gives %s\n want  %s", packed, got, want)
		}
	}
}

// Several packed files joined are one schema, whatever their order; a file that is
// there twice counts once, and so do ways to write its name.
func TestUnpackJoined(t *testing.T) {
	const a, b = "#file x/a.thrift\ninclude\"y/b.thrift\"\nstruct A{1:b.B b}\n", "#file y/b.thrift\nstruct B{}\n"
	for name, packed := range map[string]string{"in order": b + a, "backwards": a + b, "twice": a + b + b + a, "another name": a + "#file ./y//b.thrift\nstruct B{}\n"} {
		s, err := Unpack(packed)
		if err != nil || len(s.Files) != 2 || s.Files[0].Path != "y/b.thrift" || !s.Files[0].Listed || s.Files[1].Structs[0].Fields[0].Type.Struct == nil {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// FuzzUnpack reads what a server might send.
func FuzzUnpack(f *testing.F) {
	f.Add("#file x/a.thrift\ninclude\"y/b.thrift\"\nstruct A{1:b.B b}\n#file y/b.thrift\nstruct B{}\n")
	f.Add("#file a\n#file b\ninclude\"a\"\n")
	f.Fuzz(func(t *testing.T, packed string) {
		s, err := Unpack(packed)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err == nil {
			repack(t, s)
		}
	})
}
