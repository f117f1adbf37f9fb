package idl

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Of several namespaces for a language the last one counts; "*" is for those that
// have none of their own.
func TestNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		list []Namespace
		want string // for go
		rest string // for rb
	}{
		"none":         {nil, "", ""},
		"its own":      {[]Namespace{{Scope: "go", Name: "a"}}, "a", ""},
		"another's":    {[]Namespace{{Scope: "py", Name: "a"}}, "", ""},
		"all":          {[]Namespace{{Scope: "*", Name: "a"}}, "a", "a"},
		"all and own":  {[]Namespace{{Scope: "*", Name: "a"}, {Scope: "go", Name: "b"}}, "b", "a"},
		"own and all":  {[]Namespace{{Scope: "go", Name: "b"}, {Scope: "*", Name: "a"}}, "b", "a"},
		"twice":        {[]Namespace{{Scope: "go", Name: "a"}, {Scope: "go", Name: "b"}}, "b", ""},
		"all twice":    {[]Namespace{{Scope: "*", Name: "a"}, {Scope: "*", Name: "b"}}, "b", "b"},
		"own is empty": {[]Namespace{{Scope: "*", Name: "a"}, {Scope: "go", Name: ""}}, "", "a"},
	} {
		f := &File{Namespaces: c.list}
		if got, rest := f.Namespace("go"), f.Namespace("rb"); got != c.want || rest != c.rest {
			t.Errorf("%s: %q and %q, want %q and %q", name, got, rest, c.want, c.rest)
		}
	}
}

func TestAnnotations(t *testing.T) {
	notes := Annotations{{Key: "a", Value: "1"}, {Key: "b", Value: ""}, {Key: "a", Value: "2"}}
	for key, want := range map[string]struct {
		value string
		ok    bool
	}{"a": {"2", true}, "b": {"", true}, "c": {"", false}, "": {"", false}} {
		if value, ok := notes.Find(key); value != want.value || ok != want.ok {
			t.Errorf("%q: %q, %t", key, value, ok)
		}
	}
	if _, ok := Annotations(nil).Find("a"); ok {
		t.Error("nothing has an annotation")
	}
}

// The name of a kind is Thrift's word if Thrift has it, is what JSON has, and comes back.
func TestKindText(t *testing.T) {
	words := map[string]bool{}
	for k := Invalid; k <= Float; k++ {
		word := k.String()
		p, err := k.MarshalText()
		var back Kind
		if err != nil || string(p) != word || back.UnmarshalText(p) != nil || back != k || words[word] || word == "" {
			t.Errorf("kind %d: %q, %q, %v, comes back as %d", k, word, p, err, back)
		}
		words[word] = true
	}
	if got := (Float + 1).String(); got != "Kind(19)" {
		t.Error(got)
	}
	k := I32
	if err := k.UnmarshalText([]byte("i128")); err == nil || err.Error() != `idl: unknown kind "i128"` || k != I32 {
		t.Errorf("%v, %v", err, k)
	}
}

// A type is written as a file would have it; what it is made of by name.
func TestTypeString(t *testing.T) {
	named := &Type{Kind: StructRef, Name: "S"}
	for want, typ := range map[string]*Type{
		"void":                   nil,
		"i64":                    {Kind: I64},
		"S":                      named,
		"E":                      {Kind: EnumRef, Name: "E"},
		"T":                      {Kind: TypedefRef, Name: "T", Typedef: &Typedef{Name: "T", Type: &Type{Kind: I8}}},
		"other.S":                {Kind: Invalid, Name: "other.S"}, // while it is not resolved
		"invalid":                {},
		"list<S>":                {Kind: List, Elem: named},
		"set<binary>":            {Kind: Set, Elem: &Type{Kind: Binary}},
		"map<uuid,list<double>>": {Kind: Map, Key: &Type{Kind: UUID}, Elem: &Type{Kind: List, Elem: &Type{Kind: Double}}},
	} {
		if got := typ.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// True ends, whatever it is given: also in a schema that is not finished.
func TestTrueEnds(t *testing.T) {
	chain := &Type{Kind: I16}
	for range MaxChain {
		chain = &Type{Kind: TypedefRef, Typedef: &Typedef{Type: chain}}
	}
	loop := &Type{Kind: TypedefRef, Typedef: &Typedef{}}
	loop.Typedef.Type = loop
	unfinished := &Type{Kind: TypedefRef}
	for name, c := range map[string]struct{ typ, want *Type }{
		"nil":         {nil, nil},
		"the longest": {chain, nil},
		"a circle":    {loop, loop},
		"unfinished":  {unfinished, unfinished},
		"nowhere":     {&Type{Kind: TypedefRef, Typedef: &Typedef{}}, nil},
	} {
		got := c.typ.True()
		if name == "the longest" {
			if got.Kind != I16 {
				t.Errorf("the longest chain ends at %s", got.Kind)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A value is written about as a file would have it.
func TestValueString(t *testing.T) {
	one, text := &Value{Kind: IntValue, Int: 1}, &Value{Kind: StringValue, Text: "a\n\"b\""}
	for want, v := range map[string]*Value{
		"1":                    one,
		"-9223372036854775808": {Kind: IntValue, Int: -1 << 63},
		"1.50":                 {Kind: DoubleValue, Text: "1.50"},
		`"a\n\"b\""`:           text,
		"Color.RED":            {Kind: NameValue, Text: "Color.RED"},
		"[]":                   {Kind: ListValue},
		`[1, "a\n\"b\""]`:      {Kind: ListValue, List: []*Value{one, text}},
		"{}":                   {Kind: MapValue},
		"{1: [1], 2: {}}":      {Kind: MapValue, Map: []Entry{{one, &Value{Kind: ListValue, List: []*Value{one}}}, {&Value{Kind: IntValue, Int: 2}, &Value{Kind: MapValue}}}},
	} {
		if got := v.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A uuid is written in one form, in either case, with or without brackets.
func TestValueUUID(t *testing.T) {
	want := [16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	const text = "00112233-4455-6677-8899-aabbccddeeff"
	for s, ok := range map[string]bool{
		text: true, strings.ToUpper(text): true, "{" + text + "}": true, "{" + text: false, text + "}": false, "(" + text + ")": false,
		"": false, text[1:]: false, text + "0": false, strings.ReplaceAll(text, "-", ""): false, strings.ReplaceAll(text, "-", "_"): false,
		"0011223-34455-6677-8899-aabbccddeeff": false, "g" + text[1:]: false, "+" + text[1:]: false, text[:35] + "\xff": false,
		"{{112233-4455-6677-8899-aabbccddeeff}": false,
	} {
		id, got := (&Value{Kind: StringValue, Text: s}).UUID()
		if got != ok || ok && id != want {
			t.Errorf("%q: %x, %t", s, id, got)
		}
	}
	for _, kind := range []ValueKind{IntValue, DoubleValue, NameValue, ListValue, MapValue} {
		if _, ok := (&Value{Kind: kind, Text: text}).UUID(); ok {
			t.Errorf("a %s is a uuid", kind)
		}
	}
}

// The JSON of a schema, whole: it is what plug-ins are given. What is reached by a
// pointer is there by its name and file.
func TestSchemaJSON(t *testing.T) {
	f := &File{Path: "d/a.thrift", Name: "a", Language: Thrift, Listed: true, Text: "…"}
	e := &Enum{Name: "E", Values: []*EnumValue{{Name: "A", Value: -1, Pos: Pos{1, 10}}}, Pos: Pos{1, 6}, File: f}
	ref := &Type{Kind: EnumRef, Name: "E", File: f.Path, Enum: e, Pos: Pos{2, 15}}
	s := &Struct{Name: "S", Kind: Union, File: f, Pos: Pos{2, 8}, Fields: []*Field{
		{ID: 1, Name: "e", Type: ref, Presence: Optional, Default: &Value{Kind: NameValue, Text: "E.A", Enum: e, EnumValue: e.Values[0]}, Doc: "of e"},
	}}
	f.Enums, f.Structs, f.Services = []*Enum{e}, []*Struct{s}, []*Service{{Name: "V", File: f, Methods: []*Method{
		{Name: "m", ServerStream: true, Result: &Type{Kind: StructRef, Name: "S", File: f.Path, Struct: s}, Args: []*Field{}, StreamPos: Pos{3, 4}},
	}}}
	const zero = `"pos":{"line":0,"col":0}`
	const want = `{"files":[{"path":"d/a.thrift","language":"thrift","name":"a","listed":true,` +
		`"enums":[{"name":"E","values":[{"name":"A","value":-1,"pos":{"line":1,"col":10}}],"pos":{"line":1,"col":6}}],` +
		`"structs":[{"name":"S","kind":"union","fields":[{"id":1,"name":"e","type":{"kind":"enum","name":"E","file":"d/a.thrift","pos":{"line":2,"col":15}},` +
		`"presence":"optional","default":{"kind":"name","text":"E.A",` + zero + `},"doc":"of e",` + zero + `}],"pos":{"line":2,"col":8}}],` +
		`"services":[{"name":"V","methods":[{"name":"m","server_stream":true,"result":{"kind":"struct","name":"S","file":"d/a.thrift",` + zero + `},"args":[],` +
		zero + `,"stream_pos":{"line":3,"col":4}}],` + zero + `}],"text":"…"}]}`
	p, err := json.Marshal(&Schema{Files: []*File{f}})
	if err != nil || string(p) != want {
		t.Errorf("%v\n gives %s\n want  %s", err, p, want)
	}
	var back Schema
	if err := json.Unmarshal(p, &back); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(&back); err != nil || string(again) != want {
		t.Errorf("comes back as %s, %v", again, err)
	}
}

// Every field of the model has a name in JSON, in small letters, or none at all: a new
// one is not forgotten, and none changes by a new name in Go.
func TestModelHasNames(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "" || name != strings.ToLower(name) {
				t.Errorf("%s.%s is called %q", typ.Name(), f.Name, name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Schema]())
	if len(seen) < 15 {
		t.Errorf("only %d types were seen", len(seen))
	}
}
