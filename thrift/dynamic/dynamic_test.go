package dynamic_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

const source = `
enum Color { RED = 1, GREEN = 2, ALSO_GREEN = 2 }
typedef i64 Stamp
const i32 PORT = 8080
struct Leaf { 1: i64 id, 2: string name }
union Either { 1: i64 number, 2: string text, 3: Leaf leaf, 4: list<Either> list }
exception Oops { 1: string why }
struct Tree { 1: i32 value, 2: optional list<Tree> children, 3: optional Tree next }
struct Defaults {
	1: i32 port = PORT, 2: string host = "local\"host", 3: optional Color color = Color.GREEN,
	4: list<i16> list = [1, 2], 5: map<string, bool> map = {"a": true}, 6: Leaf leaf = {"id": 5, "name": "x"},
	7: double d = 1.5, 8: bool b = true, 9: uuid u = "00112233-4455-6677-8899-aabbccddeeff", 10: binary raw = "hi",
}
struct Strict { 1: required i32 a, 2: required string b, 3: i32 c }
struct Everything {
	1: bool b, 2: i8 i8, 3: i16 i16, 4: i32 i32, 5: i64 i64, 6: double d, 7: string s, 8: binary raw, 9: uuid u,
	10: Color color, 11: Leaf leaf, 12: Either either, 13: Stamp stamp,
	20: list<i32> ints, 21: set<string> names, 22: list<Leaf> leaves, 23: list<list<Color>> nested,
	30: map<string, i32> msi, 31: map<i64, string> mis, 32: map<Color, Leaf> mcl, 33: map<Leaf, i32> mli, 34: map<bool, bool> mbb,
	35: map<double, i8> md8, 36: map<uuid, string> mus, 37: map<list<i8>, string> mls, 38: map<binary, i8> mb8,
}
service Base { Leaf inherited(1: i64 id) }
service Things extends Base {
	Leaf find(1: i64 id, 2: Color color = Color.RED) throws (1: Oops oops),
	void nothing(),
	oneway void fire(1: string what),
	i32 count(1: required list<string> names) throws (1: Oops oops),
	list<Leaf> all(),
	stream<Strict> down(1: Leaf leaf), Strict up(1: stream<Leaf> leaves), stream<Strict> both(1: stream<Leaf> leaves) throws (1: Oops oops),
}
`

type Color int32

type Leaf struct {
	ID   int64  `thrift:"id,1"`
	Name string `thrift:"name,2"`
}

type Either interface {
	isUnion(*Number, *Text, *OfLeaf, *List)
}
type Number struct {
	Number int64 `thrift:"number,1"`
}
type Text struct {
	Text string `thrift:"text,2"`
}
type OfLeaf struct {
	Leaf *Leaf `thrift:"leaf,3"`
}
type List struct {
	List []Either `thrift:"list,4"`
}

func (*Number) isUnion(*Number, *Text, *OfLeaf, *List) {}
func (*Text) isUnion(*Number, *Text, *OfLeaf, *List)   {}
func (*OfLeaf) isUnion(*Number, *Text, *OfLeaf, *List) {}
func (*List) isUnion(*Number, *Text, *OfLeaf, *List)   {}

type Everything struct {
	B      bool                         `thrift:"b,1"`
	I8     int8                         `thrift:"i8,2"`
	I16    int16                        `thrift:"i16,3"`
	I32    int32                        `thrift:"i32,4"`
	I64    int64                        `thrift:"i64,5"`
	D      float64                      `thrift:"d,6"`
	S      string                       `thrift:"s,7"`
	Raw    []byte                       `thrift:"raw,8"`
	U      thrift.UUID                  `thrift:"u,9"`
	Color  Color                        `thrift:"color,10"`
	Leaf   *Leaf                        `thrift:"leaf,11"`
	Either Either                       `thrift:"either,12"`
	Stamp  int64                        `thrift:"stamp,13"`
	Ints   []int32                      `thrift:"ints,20"`
	Names  thrift.Set[string]           `thrift:"names,21"`
	Leaves []*Leaf                      `thrift:"leaves,22"`
	Nested [][]Color                    `thrift:"nested,23"`
	MSI    map[string]int32             `thrift:"msi,30"`
	MIS    map[int64]string             `thrift:"mis,31"`
	MCL    map[Color]*Leaf              `thrift:"mcl,32"`
	MLI    thrift.Pairs[*Leaf, int32]   `thrift:"mli,33"`
	MBB    map[bool]bool                `thrift:"mbb,34"`
	MD8    map[float64]int8             `thrift:"md8,35"`
	MUS    map[thrift.UUID]string       `thrift:"mus,36"`
	MLS    thrift.Pairs[[]int8, string] `thrift:"mls,37"`
	MB8    thrift.Pairs[[]byte, int8]   `thrift:"mb8,38"`
}

func schema(t testing.TB) *idl.Schema {
	t.Helper()
	s, err := thriftidl.Reader{Open: func(path string) ([]byte, error) {
		if path == "test.thrift" {
			return []byte(source), nil
		}
		return nil, fs.ErrNotExist
	}}.Load("test.thrift")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func structCodec(t testing.TB, name string) *dynamic.Codec {
	t.Helper()
	for _, s := range schema(t).Files[0].Structs {
		if s.Name == name {
			c, err := dynamic.Struct(s)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	t.Fatalf("no struct %s", name)
	return nil
}

func method(t testing.TB, name string) *rpc.Method {
	t.Helper()
	for _, s := range schema(t).Files[0].Services {
		for _, m := range s.Methods {
			if m.Name == name {
				r, err := dynamic.Method(s, m)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
		}
	}
	t.Fatalf("no method %s", name)
	return nil
}

func appendTo(c rpc.Codec, msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	err := c.Append(&out, msg)
	return out.Bytes(), err
}

func toThrift(t testing.TB, c rpc.Codec, msg any) []byte {
	t.Helper()
	p, err := appendTo(c, msg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func toJSON(t testing.TB, c rpc.Codec, body []byte) string {
	t.Helper()
	var m dynamic.Message
	if err := c.Decode(buf.ViewOf(body), &m, rpc.Limits{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(m.JSON) {
		t.Fatalf("not JSON: %s", m.JSON)
	}
	return string(m.JSON)
}

// TestAgainstThePlan holds JSON, bytes and the plan codec's types together.
func TestAgainstThePlan(t *testing.T) {
	const text = `{"b":true,"i8":-1,"i16":-2,"i32":-3,"i64":9223372036854775807,"d":-0.25,"s":"a\"\\\u0001é","raw":"AQL/","u":"00112233-4455-6677-8899-aabbccddeeff",` +
		`"color":"GREEN","leaf":{"id":1,"name":"x"},"either":{"list":[{"number":1},{"text":"t"},{"leaf":{"id":2,"name":""}},{"list":[]}]},"stamp":99,` +
		`"ints":[1,2,3],"names":["a","b"],"leaves":[{"id":1,"name":"a"},{"id":2,"name":"b"}],"nested":[["RED",7],[]],` +
		`"msi":{"k":1},"mis":{"-5":"five"},"mcl":{"RED":{"id":3,"name":"c"}},"mli":[{"key":{"id":4,"name":"d"},"value":8}],"mbb":{"true":false},` +
		`"md8":{"1.5":2},"mus":{"00112233-4455-6677-8899-aabbccddeeff":"u"},"mls":[{"key":[1,2],"value":"l"}],"mb8":{"AQL/":3}}`
	id := thrift.UUID{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	want := &Everything{
		true, -1, -2, -3, 1<<63 - 1, -0.25, "a\"\\\x01é", []byte{1, 2, 255}, id, 2, &Leaf{1, "x"},
		&List{[]Either{&Number{1}, &Text{"t"}, &OfLeaf{&Leaf{2, ""}}, &List{[]Either{}}}}, 99,
		[]int32{1, 2, 3}, thrift.Set[string]{"a", "b"}, []*Leaf{{1, "a"}, {2, "b"}}, [][]Color{{1, 7}, {}},
		map[string]int32{"k": 1}, map[int64]string{-5: "five"}, map[Color]*Leaf{1: {3, "c"}}, thrift.Pairs[*Leaf, int32]{{Key: &Leaf{4, "d"}, Value: 8}}, map[bool]bool{true: false},
		map[float64]int8{1.5: 2}, map[thrift.UUID]string{id: "u"}, thrift.Pairs[[]int8, string]{{Key: []int8{1, 2}, Value: "l"}}, thrift.Pairs[[]byte, int8]{{Key: []byte{1, 2, 255}, Value: 3}},
	}
	c := structCodec(t, "Everything")
	body := toThrift(t, c, &dynamic.Message{JSON: []byte(text)})
	if planned := toThrift(t, thrift.Binary{}, want); !bytes.Equal(body, planned) {
		t.Errorf("bytes\n%x; the plan has\n%x", body, planned)
	}
	got := new(Everything)
	if err := (thrift.Binary{}).Decode(buf.ViewOf(body), got, nil); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the plan reads %+v, %v", got, err)
	}
	if back := toJSON(t, c, body); back != text {
		t.Errorf("JSON\n%s; want\n%s", back, text)
	}
	for i := range body {
		err := c.Decode(buf.ViewOf(body[:i:i]), new(dynamic.Message), rpc.Limits{}.WithDefaults())
		var syntax *thrift.SyntaxError
		if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset > i {
			t.Errorf("prefix of %d: %v", i, err)
		}
	}
	for i := range text {
		if _, err := appendTo(c, &dynamic.Message{JSON: []byte(text[:i])}); (err == nil) != (i == 0) {
			t.Errorf("prefix of %d characters: %v", i, err)
		}
	}
}

func TestOtherSpellings(t *testing.T) {
	c := structCodec(t, "Everything")
	for _, tt := range []struct{ in, out string }{
		{`{"i64":"9007199254740993"}`, `{"i64":9007199254740993}`},
		{`{"i64":-9223372036854775808, "i32":1e3, "i16":2.0}`, `{"i64":-9223372036854775808,"i32":1000,"i16":2}`},
		{`{"color":1}`, `{"color":"RED"}`},
		{`{"color":77}`, `{"color":77}`},
		{`{"color":"77"}`, `{"color":77}`},
		{`{"color":"ALSO_GREEN"}`, `{"color":"GREEN"}`},
		{`{"d":"NaN"}`, `{"d":"NaN"}`},
		{`{"d":"Infinity"}`, `{"d":"Infinity"}`},
		{`{"d":"-Infinity"}`, `{"d":"-Infinity"}`},
		{`{"d":3}`, `{"d":3}`},
		{`{"d":"1e300"}`, `{"d":1e+300}`},
		{`{"raw":"AQI="}`, `{"raw":"AQI="}`},
		{`{"raw":"AQI"}`, `{"raw":"AQI="}`},
		{`{"raw":"_-8"}`, `{"raw":"/+8="}`},
		{`{"msi":[{"key":"a","value":1}]}`, `{"msi":{"a":1}}`},
		{`{"mis":{"007":"x"}}`, `{"mis":{"7":"x"}}`},
		{`{"mcl":{"2":{}}}`, `{"mcl":{"GREEN":{}}}`},
		{`{"s":null,"leaf":null,"ints":null}`, `{}`},
		{` {"u":"00112233-4455-6677-8899-AABBCCDDEEFF"} `, `{"u":"00112233-4455-6677-8899-aabbccddeeff"}`},
		{`{"md8":{"NaN":1}}`, `{"md8":{"NaN":1}}`},
	} {
		body, err := appendTo(c, &dynamic.Message{JSON: []byte(tt.in)})
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if got := toJSON(t, c, body); got != tt.out {
			t.Errorf("%s: %s; want %s", tt.in, got, tt.out)
		}
	}
}

func TestWrongJSON(t *testing.T) {
	deep := strings.Repeat(`{"next":`, 64) + `{}` + strings.Repeat(`}`, 64)
	lists := strings.Repeat(`{"list":[`, 33) + strings.Repeat(`]}`, 33)
	for _, tt := range []struct{ typ, in, path, why string }{
		{"Leaf", `{"nme":1}`, "", `Leaf has no field "nme"; known are id, name`},
		{"Everything", `{"leaves":[{"id":1},{"x":2}]}`, "leaves[1]", `Leaf has no field "x"; known are id, name`},
		{"Everything", `{"zz":1}`, "", `and 6 more`},
		{"Everything", `{"leaf":5}`, "leaf", "Leaf is an object, not the number 5"},
		{"Everything", `{"ints":{"a":1}}`, "ints", "list<i32> is an array, not an object"},
		{"Everything", `{"ints":[1,"x"]}`, "ints[1]", `i32 is an integer, not the string "x"`},
		{"Everything", `{"ints":[null]}`, "ints[0]", "i32 is an integer, not null"},
		{"Everything", `{"ints":[2147483648]}`, "ints[0]", "2147483648 is out of range for i32"},
		{"Everything", `{"ints":[1.5]}`, "ints[0]", "i32 is an integer, not the number 1.5"},
		{"Everything", `{"i64":1e300}`, "i64", "i64 is an integer, not the number 1e300"},
		{"Everything", `{"i8":128}`, "i8", "out of range"},
		{"Everything", `{"i16":-32769}`, "i16", "out of range"},
		{"Everything", `{"i64":9223372036854775808}`, "i64", "out of range"},
		{"Everything", `{"stamp":true}`, "stamp", "Stamp is an integer, not true"},
		{"Everything", `{"b":1}`, "b", "bool is true or false, not the number 1"},
		{"Everything", `{"d":"0x1p3"}`, "d", "double is a number"},
		{"Everything", `{"d":1e999}`, "d", "does not fit a double"},
		{"Everything", `{"d":[]}`, "d", "double is a number, not an array"},
		{"Everything", `{"s":1}`, "s", "string is a string, not the number 1"},
		{"Everything", `{"raw":"!!"}`, "raw", "binary is base64"},
		{"Everything", `{"u":"1-2"}`, "u", "is not a uuid"},
		{"Everything", `{"color":"BLUE"}`, "color", `the enum Color has no value "BLUE"; known are RED, GREEN, ALSO_GREEN`},
		{"Everything", `{"msi":{"k":"v"}}`, `msi["k"]`, "i32 is an integer"},
		{"Everything", `{"mis":{"k":"v"}}`, `mis["k"]`, "i64 is an integer"},
		{"Everything", `{"mli":{"k":1}}`, "mli", "its keys are no scalars"},
		{"Everything", `{"mli":[{"value":1}]}`, "mli[0]", "in this order"},
		{"Everything", `{"mli":[{"key":{},"value":1,"more":2}]}`, "mli[0]", "in this order"},
		{"Everything", `{"mli":[1]}`, "mli[0]", "not the number 1"},
		{"Everything", `{"mli":3}`, "mli", "not the number 3"},
		{"Everything", `{"either":{}}`, "either", "the union Either has one member, not 0"},
		{"Everything", `{"either":{"number":1,"text":"a"}}`, "either", "the union Either has one member, not 2"},
		{"Everything", `{"s":"a","s":"b"}`, "s", "twice"},
		{"Everything", `{"s":"a"`, "", "ends too early"},
		{"Everything", `{"s":"a",}`, "", "invalid character"},
		{"Everything", `{"s":"a"} x`, "", "more after the end"},
		{"Everything", `[]`, "", "Everything is an object, not an array"},
		{"Strict", `{"a":1}`, "", `Strict needs the field "b"`},
		{"Strict", `{"a":1,"b":null}`, "", `Strict needs the field "b"`},
		{"Tree", deep, strings.TrimSuffix(strings.Repeat("next.", 64), "."), "nested more than 64 deep"},
		{"Either", lists, "", "nested more than 64 deep"},
	} {
		body, err := appendTo(structCodec(t, tt.typ), &dynamic.Message{JSON: []byte(tt.in)})
		var bad *dynamic.Error
		if !errors.As(err, &bad) || rpc.CodeOf(err) != rpc.InvalidArgument || tt.typ != "Either" && bad.Path != tt.path || !strings.Contains(bad.Why, tt.why) || len(body) != 0 {
			t.Errorf("%.60s: %v; want %s: %s", tt.in, err, tt.path, tt.why)
		}
	}
}

func TestDefaultsAreFilledInBothWays(t *testing.T) {
	const want = `{"port":8080,"host":"local\"host","color":"GREEN","list":[1,2],"map":{"a":true},"leaf":{"id":5,"name":"x"},"d":1.5,"b":true,"u":"00112233-4455-6677-8899-aabbccddeeff","raw":"aGk="}`
	c := structCodec(t, "Defaults")
	body := toThrift(t, c, &dynamic.Message{})
	if len(body) < 50 {
		t.Errorf("only %d bytes were written", len(body))
	}
	for _, p := range [][]byte{body, {0}} {
		if got := toJSON(t, c, p); got != want {
			t.Errorf("%x: %s; want %s", p, got, want)
		}
	}
	got := toJSON(t, c, toThrift(t, c, &dynamic.Message{JSON: []byte(`{"port":1,"leaf":{}}`)}))
	if !strings.HasPrefix(got, `{"port":1,"leaf":{},"host":`) {
		t.Errorf("some given: %s", got)
	}
}

func TestWireThatDiffersFromTheIDL(t *testing.T) {
	for _, tt := range []struct{ typ, hex, out string }{
		{"Leaf", "08 0001 00000005 0b 0002 00000001 61 00", `{"name":"a"}`},                                    // id of another type
		{"Leaf", "0b 0063 00000001 61 0b 0002 00000000 00", `{"name":""}`},                                     // unknown
		{"Leaf", "0b 0002 00000001 61 0a 0001 0000000000000001 0b 0002 00000001 62 00", `{"id":1,"name":"b"}`}, // twice
		{"Either", "0a 0001 0000000000000001 0b 0002 00000001 62 00", `{"text":"b"}`},
		{"Either", "0a 0001 0000000000000001 0b 0002 00000001 62 0a 0001 0000000000000007 00", `{"number":7}`},
		{"Either", "00", `{}`},
		{"Everything", "0f 0014 0b 00000001 00000000 08 0004 00000001 00", `{"i32":1}`},                                 // list of another element
		{"Everything", "0f 0017 0f 00000002 08 00000000 0a 00000001 0000000000000001 08 0004 00000001 00", `{"i32":1}`}, // deep inside
		{"Everything", "0f 0014 00 00000000 0d 001e 00 00 00000000 00", `{"ints":[],"msi":{}}`},
		{"Everything", "02 0001 05 00", `{"b":false}`},
		{"Everything", "0b 0007 00000002 ff61 00", `{"s":"` + "\ufffd" + `a"}`},
	} {
		p, err := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := toJSON(t, structCodec(t, tt.typ), p); got != tt.out {
			t.Errorf("%s: %s; want %s", tt.hex, got, tt.out)
		}
	}
}

func TestDecodeLimits(t *testing.T) {
	everything, tree, def := structCodec(t, "Everything"), structCodec(t, "Tree"), structCodec(t, "Defaults")
	many := append([]byte{15, 0, 2, 12, 0, 1, 0, 0}, make([]byte, 1<<16+1)...)
	for name, tt := range map[string]struct {
		c    *dynamic.Codec
		body []byte
		why  string
	}{
		"levels":         {tree, bytes.Repeat([]byte{12, 0, 3}, 2_000_000), "nested too deeply"},
		"unknown levels": {tree, bytes.Repeat([]byte{12, 0, 9}, 2_000_000), "nested too deeply"},
		"string":         {everything, []byte{11, 0, 7, 0x7f, 255, 255, 255}, "size beyond the end"},
		"list":           {everything, []byte{15, 0, 20, 8, 0x7f, 255, 255, 255}, "size beyond the end"},
		"negative":       {everything, []byte{15, 0, 20, 8, 255, 255, 255, 255}, "negative size"},
		"map":            {everything, []byte{13, 0, 30, 11, 8, 0x7f, 255, 255, 255}, "size beyond the end"},
		"many":           {tree, many, ""},
		"trailing":       {def, []byte{0, 0}, "bytes after the end"},
		"required":       {structCodec(t, "Strict"), []byte{0}, "required field is missing"},
	} {
		var syntax *thrift.SyntaxError
		err := tt.c.Decode(buf.ViewOf(tt.body), new(dynamic.Message), rpc.Limits{}.WithDefaults())
		if tt.why == "" && err == nil {
			continue
		}
		if !errors.As(err, &syntax) || syntax.Why != tt.why {
			t.Errorf("%s: %v; want %q", name, err, tt.why)
		}
	}
	// A list of many structs that are nothing but defaults.
	f := schema(t).Files[0]
	var of *idl.Struct
	for _, s := range f.Structs {
		if s.Name == "Defaults" {
			of = s
		}
	}
	list, err := dynamic.Struct(&idl.Struct{Name: "L", Kind: idl.PlainStruct, Fields: []*idl.Field{
		{ID: 2, Name: "l", Type: &idl.Type{Kind: idl.List, Elem: &idl.Type{Kind: idl.StructRef, Struct: of, Name: "Defaults"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	err = list.Decode(buf.ViewOf(many), new(dynamic.Message), rpc.Limits{}.WithDefaults())
	if err == nil || !strings.Contains(err.Error(), "more memory") {
		t.Errorf("many defaults: %v", err)
	}
	// A few take little on the wire, and weigh what their text does.
	var some dynamic.Message
	few := append([]byte{15, 0, 2, 12, 0, 0, 1, 0}, make([]byte, 1<<8+1)...)
	var weigher rpc.Weigher = list
	if n, err := weigher.DecodeWeighed(buf.ViewOf(few), &some, nil); err != nil || n < len(some.JSON) || len(some.JSON) < 10<<10 || n > 3*len(some.JSON) {
		t.Errorf("256 defaults of %d bytes weigh %d, %v", len(some.JSON), n, err)
	}
	list.MaxBytes = 1 << 20
	_, err = appendTo(list, &dynamic.Message{JSON: []byte(`{"l":[{}` + strings.Repeat(",{}", 100_000) + `]}`)})
	if err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("a hundred thousand defaults: %v", err)
	}
}

func TestMethods(t *testing.T) {
	find := method(t, "find")
	if find.Service != "Things" || find.Kind != rpc.Unary || method(t, "fire").Kind != rpc.Oneway {
		t.Errorf("%v %v", find, find.Kind)
	}
	// Arguments, with a default.
	args := toThrift(t, find.Codec, &dynamic.Args{JSON: []byte(`{"id":7}`)})
	if want, _ := hex.DecodeString("0a00010000000000000007" + "08000200000001" + "00"); !bytes.Equal(args, want) {
		t.Errorf("args %x; want %x", args, want)
	}
	var a dynamic.Args
	if err := find.Codec.Decode(buf.ViewOf(args), &a, nil); err != nil || string(a.JSON) != `{"id":7,"color":"RED"}` {
		t.Errorf("args %s, %v", a.JSON, err)
	}
	lim := rpc.Limits{}.WithDefaults()
	for _, tt := range []struct {
		method string
		in     dynamic.Result
		raised string
	}{
		{"find", dynamic.Result{Field: "success", JSON: []byte(`{"id":1,"name":"x"}`)}, ""},
		{"find", dynamic.Result{Field: "oops", JSON: []byte(`{"why":"so"}`)}, `Oops {"why":"so"}`},
		{"find", dynamic.Result{}, "Internal: decode response: the answer holds no result: the handler has returned nil and no error, or the server's IDL has another result or exception of the method"},
		{"nothing", dynamic.Result{}, ""},
		{"count", dynamic.Result{Field: "success", JSON: []byte(`5`)}, ""},
		{"all", dynamic.Result{Field: "success", JSON: []byte(`[{"id":1}]`)}, ""},
	} {
		m := method(t, tt.method)
		body := toThrift(t, m.Codec, &tt.in)
		var got dynamic.Result
		if err := m.Codec.Decode(buf.ViewOf(body), &got, lim); err != nil || got.Field != tt.in.Field || string(got.JSON) != string(tt.in.JSON) {
			t.Errorf("%s: %q %s, %v", tt.method, got.Field, got.JSON, err)
		}
		err := m.Raise(&got)
		if tt.raised == "" && err != nil || tt.raised != "" && (err == nil || err.Error() != tt.raised) {
			t.Errorf("%s: raised %v; want %s", tt.method, err, tt.raised)
		}
		if rpc.CodeOf(err) == rpc.Internal && rpc.SentOf(err) != rpc.Processed {
			t.Errorf("%s: an answer has come, and the call may be made again: %v", tt.method, rpc.SentOf(err))
		}
		if x, ok := err.(*dynamic.Exception); ok {
			var put dynamic.Result
			if !m.Except(&put, fmt.Errorf("wrapped: %w", x)) || put.Field != "oops" || string(put.JSON) != string(x.JSON) {
				t.Errorf("except: %+v", put)
			}
		}
	}
	if find.Except(new(dynamic.Result), errors.New("other")) || find.Except(new(dynamic.Result), &dynamic.Exception{Field: "success"}) {
		t.Error("an undeclared error was put into the result")
	}
	for _, bad := range []struct{ method, json, path string }{
		{"count", `{}`, `needs the field "names"`},
		{"count", `{"names":[1]}`, "names[0]"},
		{"find", `{"Id":1}`, "known are id, color"},
	} {
		if _, err := appendTo(method(t, bad.method).Codec, &dynamic.Args{JSON: []byte(bad.json)}); err == nil || !strings.Contains(err.Error(), bad.path) {
			t.Errorf("%s: %v; want %s", bad.json, err, bad.path)
		}
	}
	if _, err := appendTo(find.Codec, &dynamic.Message{}); rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("a message of another kind: %v", err)
	}
	// Two results: the last one counts.
	two, _ := hex.DecodeString("0c0001" + "0b00010000000161" + "00" + "0c0000" + "0a00010000000000000009" + "00" + "00")
	var r dynamic.Result
	if err := find.Codec.Decode(buf.ViewOf(two), &r, lim); err != nil || r.Field != "success" || string(r.JSON) != `{"id":9}` {
		t.Errorf("%q %s, %v", r.Field, r.JSON, err)
	}
}

// TestStreams: a message of a stream is its struct alone, both ways.
func TestStreams(t *testing.T) {
	leaf, strict := structCodec(t, "Leaf"), structCodec(t, "Strict")
	for name, kind := range map[string]rpc.Kind{"down": rpc.ServerStream, "up": rpc.ClientStream, "both": rpc.Bidi} {
		m := method(t, name)
		if m.Kind != kind || m.Except != nil || m.Raise != nil {
			t.Errorf("%s: %+v", name, m)
		}
		sent := toThrift(t, m.Codec, &dynamic.Args{JSON: []byte(`{"id":7,"name":"x"}`)})
		if want := toThrift(t, leaf, &dynamic.Message{JSON: []byte(`{"id":7,"name":"x"}`)}); !bytes.Equal(sent, want) {
			t.Errorf("%s sends %x; want %x", name, sent, want)
		}
		var args dynamic.Args
		if err := m.Codec.Decode(buf.ViewOf(sent), &args, nil); err != nil || string(args.JSON) != `{"id":7,"name":"x"}` {
			t.Errorf("%s: %s, %v", name, args.JSON, err)
		}
		body := toThrift(t, strict, &dynamic.Message{JSON: []byte(`{"a":1,"b":"y"}`)})
		if answer := toThrift(t, m.Codec, &dynamic.Result{JSON: []byte(`{"a":1,"b":"y"}`)}); !bytes.Equal(answer, body) {
			t.Errorf("%s answers %x; want %x", name, answer, body)
		}
		for n := range len(body) {
			if err := m.Codec.Decode(buf.ViewOf(body[:n]), new(dynamic.Result), nil); rpc.CodeOf(err) != rpc.InvalidArgument {
				t.Errorf("%s: %d bytes of a message: %v", name, n, err)
			}
		}
		got := dynamic.Result{Field: "of the message before", JSON: []byte("1")}
		if err := m.Codec.Decode(buf.ViewOf(body), &got, nil); err != nil || got.Field != "success" || string(got.JSON) != `{"a":1,"b":"y"}` {
			t.Errorf("%s: %q %s, %v", name, got.Field, got.JSON, err)
		}
		_, err := appendTo(m.Codec, &dynamic.Args{JSON: []byte(` {"id":1,"leaf":{}}`)})
		if at, ok := errors.AsType[*dynamic.Error](err); !ok || at.Offset != 9 || at.Why != `Leaf has no field "leaf"; known are id, name` {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is no struct has no form on the wire.
	s := schema(t).Files[0].Services[1]
	for _, m := range s.Methods {
		if m.Name == "all" || m.Name == "find" {
			m.ServerStream = true
			if _, err := dynamic.Method(s, m); err == nil || err.Error() != "dynamic: Things."+m.Name+": a stream has one struct on each side" {
				t.Errorf("%s as a stream: %v", m.Name, err)
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"b":true,"i8":1,"d":"NaN","either":{"list":[{"number":1}]},"mli":[{"key":{},"value":1}],"mb8":{"AQ":1},"nested":[["RED"]]}`))
	f.Add([]byte(`{"msi":{"a":1,"a":2},"md8":{"1e5":1},"color":"7"}`))
	c := structCodec(f, "Everything")
	lim := rpc.Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, text []byte) {
		body, err := appendTo(c, &dynamic.Message{JSON: text})
		if err != nil {
			if rpc.CodeOf(err) != rpc.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		full := new(Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), full, lim); err != nil {
			t.Fatalf("%s became %x: %v", text, body, err)
		}
		// The standard library takes it too, and reads the same text.
		var std struct {
			S *string `json:"s"`
		}
		if err := json.Unmarshal(text, &std); err != nil && len(bytes.TrimSpace(text)) > 0 || std.S != nil && *std.S != full.S {
			t.Fatalf("%s: %v, %q", text, err, full.S)
		}
		var first, second dynamic.Message
		if err := c.Decode(buf.ViewOf(body), &first, lim); err != nil || !json.Valid(first.JSON) {
			t.Fatalf("%s became %s, %v", text, first.JSON, err)
		}
		again := toThrift(t, c, &first)
		if err := c.Decode(buf.ViewOf(again), &second, lim); err != nil || !bytes.Equal(first.JSON, second.JSON) {
			t.Fatalf("%s became %s, then %s, %v", text, first.JSON, second.JSON, err)
		}
	})
}

func FuzzThrift(f *testing.F) {
	c := structCodec(f, "Everything")
	f.Add(toThrift(f, c, &dynamic.Message{JSON: []byte(`{"b":true,"i8":1,"d":1,"either":{"list":[{"number":1}]},"mli":[{"key":{},"value":1}],"mb8":{"AQ":1},"nested":[["RED"]]}`)}))
	tree, def := structCodec(f, "Tree"), structCodec(f, "Defaults")
	f.Add(toThrift(f, def, &dynamic.Message{}))
	lim := rpc.Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, c := range []*dynamic.Codec{c, tree, def} {
			var m dynamic.Message
			err := c.Decode(buf.ViewOf(body), &m, lim)
			if err != nil {
				var syntax *thrift.SyntaxError
				if !errors.As(err, &syntax) || syntax.Offset > len(body) || rpc.CodeOf(err) != rpc.InvalidArgument {
					t.Fatal(err)
				}
				continue
			}
			if !json.Valid(m.JSON) {
				t.Fatalf("%x became %s", body, m.JSON)
			}
			// What the plan takes as a struct is what this takes, and the
			// other way round.
			if n, err := raw.SkipStruct(body, lim.Depth); err != nil || n != len(body) {
				t.Fatalf("decoded, but skipped: %d of %d, %v", n, len(body), err)
			}
		}
		planned := (thrift.Binary{}).Decode(buf.ViewOf(body), new(Everything), lim)
		own := c.Decode(buf.ViewOf(body), new(dynamic.Message), lim)
		costly := func(err error) bool { return err != nil && strings.Contains(err.Error(), "memory") }
		if (planned == nil) != (own == nil) && !costly(planned) && !costly(own) {
			t.Fatalf("the plan says %v, this %v", planned, own)
		}
	})
}
