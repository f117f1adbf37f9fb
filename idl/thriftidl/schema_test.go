package thriftidl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

// load reads files that exist only in the test; the first is listed.
func load(files map[string]string, first string) (*idl.Schema, error) {
	t := Reader{Open: func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}}
	return t.Load(first)
}

func TestGrammar(t *testing.T) {
	s, err := Reader{}.Load("testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Files) != 2 || s.Files[0].Name != "shared" || s.Files[0].Listed || !s.Files[1].Listed {
		t.Fatalf("files: %d", len(s.Files))
	}
	f := s.Files[1]
	for _, c := range []struct{ what, got, want string }{
		{"file doc", f.Doc, "Every production of the grammar stands in this file."},
		{"go namespace", f.Namespace("go"), "limosa.grammar"},
		{"any namespace", f.Namespace("rb"), "grammar"},
		{"consts", fmt.Sprint(len(f.Consts)), "24"},
		{"string", f.Consts[10].Value.Text, "a \"quoted\"\ttext\n"},
		{"min int64", fmt.Sprint(f.Consts[6].Value.Int), "-9223372036854775808"},
		{"enum doc", f.Enums[0].Doc, "A color.\n\nindented"},
		{"implicit enum value", fmt.Sprint(f.Enums[0].Values[1].Value), "2"},
		{"value doc", f.Enums[0].Values[1].Doc, "the sea"},
		{"field doc", f.Structs[1].Fields[2].Doc, "its color"},
		{"tag", f.Structs[1].Fields[2].Annotations[0].Value, `json:"c"`},
		{"bare annotation", f.Structs[1].Annotations[1].Value, "1"},
		{"type", f.Structs[2].Fields[10].Type.String(), "list<list<set<map<string,Point>>>>"},
		{"cpp_type", f.Structs[2].Fields[13].Type.CppType, "l"},
		{"implicit ids", fmt.Sprint(f.Structs[2].Fields[24].ID, f.Structs[2].Fields[25].ID), "-1 -2"},
		{"union fields", string(f.Structs[3].Fields[1].Presence), "optional"},
		{"parent", f.Services[0].Parent.Name, "Root"},
		{"parent file", f.Services[0].ParentFile, "testdata/shared.thrift"},
		{"async", fmt.Sprint(f.Services[0].Methods[2].Oneway), "true"},
		{"throws", f.Services[0].Methods[3].Throws[1].Type.Struct.Name, "Far"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	var shapes []string
	for _, m := range f.Services[1].Methods {
		shapes = append(shapes, fmt.Sprintf("%s %v %v", m.Name, m.ClientStream, m.ServerStream))
	}
	if got := strings.Join(shapes, ", "); got != "down false true, up true false, both true true, kitex true true, one false false" {
		t.Errorf("streams: %s", got)
	}
}

func TestJSONIsStable(t *testing.T) {
	var all [2]string
	for i := range all {
		s, err := Reader{}.Load("testdata/grammar.thrift")
		if err != nil {
			t.Fatal(err)
		}
		p, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = string(p)
		var back idl.Schema
		if err := json.Unmarshal(p, &back); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(&back); string(again) != all[i] {
			t.Fatal("the schema does not survive JSON")
		}
	}
	if all[0] != all[1] {
		t.Fatal("two loads give different JSON")
	}
	if !strings.Contains(all[0], `"kind":"map","key":{"kind":"typedef","name":"UserID","file":"testdata/grammar.thrift"`) {
		t.Error("a named type has no name or file in JSON")
	}
}

func grammar(t testing.TB) (main, shared string) {
	a, err := os.ReadFile("testdata/grammar.thrift")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/shared.thrift")
	if err != nil {
		t.Fatal(err)
	}
	return string(a), string(b)
}

// Every prefix of a file that covers the grammar either loads or gives errors
// with a place.
func TestEveryPrefix(t *testing.T) {
	text, shared := grammar(t)
	for n := range len(text) {
		_, err := load(map[string]string{"a.thrift": text[:n], "shared.thrift": shared}, "a.thrift")
		if errs, ok := errors.AsType[idl.Errors](err); err != nil && (!ok || errs[0].Pos.Line == 0) {
			t.Fatalf("prefix of %d bytes: %v", n, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	text, shared := grammar(f)
	f.Add(text)
	for _, s := range strings.Split(text, "\n\n") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load(map[string]string{"a.thrift": text, "shared.thrift": shared}, "a.thrift")
		if (s == nil) == (err == nil) {
			t.Fatal("neither a schema nor an error, or both")
		}
		if err != nil {
			_ = err.Error()
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		repack(t, s)
	})
}
