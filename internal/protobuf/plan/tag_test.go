package plan

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/pb"
)

// TestParseTag reads tags, whole and wrong.
func TestParseTag(t *testing.T) {
	for text, want := range map[string]fieldTag{
		"1,int32":                        {number: 1, typ: "int32", form: Int32},
		"536870911,uint64,packed":        {number: 536870911, typ: "uint64", form: Int64, packed: true},
		"18999,sint32,explicit,name=a_b": {number: 18999, typ: "sint32", form: Sint32, explicit: true, name: "a_b"},
		"20000,string,noutf8,required":   {number: 20000, typ: "string", form: Text, noUTF8: true, required: true},
		"5,enum,closed,json=[x.y]":       {number: 5, typ: "enum", form: Closed, json: "[x.y]"},
		"6,map(string,message),name=m":   {number: 6, typ: "message", form: Message, key: "string", keyForm: Text, name: "m"},
		"7,map(sfixed64,enum),closed":    {number: 7, typ: "enum", form: Closed, key: "sfixed64", keyForm: Fixed64},
		"8,group":                        {number: 8, typ: "group", form: Group},
		"oneof,name=kind":                {oneof: true, name: "kind"},
		"unknown":                        {unknown: true},
	} {
		if got, err := parseTag(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v\nwant %+v", text, got, err, want)
		}
	}
	for text, why := range map[string]string{
		"":                          "does not begin with a field's number",
		"x,int32":                   "does not begin with a field's number",
		"-1,int32":                  "does not begin with a field's number",
		"0,int32":                   "does not begin with a field's number",
		"19000,int32":               "does not begin with a field's number",
		"19999,int32":               "does not begin with a field's number",
		"536870912,int32":           "does not begin with a field's number",
		"99999999999999999999,bool": "does not begin with a field's number",
		"1":                         "which Protobuf does not have",
		"1,int":                     "which Protobuf does not have",
		"1,Int32":                   "which Protobuf does not have",
		"1,map(string,group)":       "which Protobuf does not have",
		"1,map(string,)":            "which Protobuf does not have",
		"1,map(string,int32":        "a type that keys may have",
		"1,map(bytes,int32)":        "a type that keys may have",
		"1,map(enum,int32)":         "a type that keys may have",
		"1,map(float,int32)":        "a type that keys may have",
		"1,map(double,int32)":       "a type that keys may have",
		"1,map(message,int32)":      "a type that keys may have",
		"1,int32,":                  "",
		"1,int32,Packed":            `the option "Packed", which is none`,
		"1,int32,name=":             `the option "name=", which is none`,
		"1,int32,json=":             `the option "json=", which is none`,
		"1,int32,closed":            `the option "closed", which is none`,
		"oneof,required":            `the option "required", which is none`,
		"unknown,packed":            `the option "packed", which is none`,
	} {
		_, err := parseTag(text)
		if why == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
}

// TestNamesAsProtoc compares the names of fields in JSON with those that protoc gives them.
func TestNamesAsProtoc(t *testing.T) {
	n := 0
	for i := range pb.File_all_proto.Messages().Len() {
		fields := pb.File_all_proto.Messages().Get(i).Fields()
		for k := range fields.Len() {
			f := fields.Get(k)
			if got := JSONName(string(f.Name())); got != f.JSONName() {
				t.Errorf("%s: %s, protoc says %s", f.Name(), got, f.JSONName())
			}
			n++
		}
	}
	for name, want := range map[string]string{"a": "a", "a_b": "aB", "_a": "A", "a__b": "aB", "a_": "a", "a_1": "a1", "a_B": "aB", "A_b": "AB", "aB_cD": "aBCD", "": "", "___": ""} {
		if got := JSONName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if n < 50 {
		t.Errorf("only %d names were compared", n)
	}
}

// TestFieldsAreFound looks every field up by its number and both of its names.
func TestFieldsAreFound(t *testing.T) {
	pl, p, err := Of(new(prototest.All))
	if err != nil {
		t.Fatal(err)
	}
	fields := new(pb.All).ProtoReflect().Descriptor().Fields()
	names := pl.FieldNames()
	if len(names) != fields.Len() {
		t.Fatalf("%d fields, want %d", len(names), fields.Len())
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		o := pl.ByNumber(uint32(f.Number()))
		if o == nil || pl.ByName(string(f.Name())) != o || pl.ByName(f.JSONName()) != o || pl.JSONName(o) != f.JSONName() || pl.ProtoName(o) != string(f.Name()) {
			t.Errorf("field %d, %s: %v", f.Number(), f.Name(), o)
			continue
		}
		if pl.Required(o) || o.Do != Variant && o.Do != Union && !pl.Absent(o, p) {
			t.Errorf("%s: required %v, absent %v in an empty message", f.Name(), pl.Required(o), pl.Absent(o, p))
		}
	}
	for _, n := range []uint32{0, 19, 20, 60, 1024, 1025, 2000, 2008, 536870900, 536870912, 1 << 31} {
		if o := pl.ByNumber(n); o != nil {
			t.Errorf("there is a field %d: %v", n, o)
		}
	}
	for _, name := range []string{"", "I32", "either", "none"} {
		if o := pl.ByName(name); o != nil {
			t.Errorf("there is a field %q", name)
		}
	}
	old, _, err := Of(new(prototest.Old))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"id": true, "last": true, "text": false, "next": false} {
		if got := old.Required(old.ByName(name)); got != want {
			t.Errorf("Old.%s: required %v", name, got)
		}
	}
}

// TestNumbersOfFields has a field of each form under each number at which a tag becomes longer: what is
// written is what package protowire writes, and is read again, cut off nowhere.
func TestNumbersOfFields(t *testing.T) {
	for _, n := range []int{1, 15, 16, 17, 1023, 1024, 1025, 2047, 2048, 18999, 20000, 262143, 262144, 33554431, 33554432, 536870911} {
		for word, value := range map[string]string{"uint32": "\x05", "fixed32": "\x05\x00\x00\x00", "double": "\x00\x00\x00\x00\x00\x00\xf0\x3f", "string": "\x03abc", "bytes": "\x01\xff", "bool": "\x01"} {
			for _, other := range []int{n - 1, n + 1} { // so that it has a neighbor
				if other < 1 || other > 536870911 || other == 19000 || other == 19999 {
					continue
				}
				d := &Draft{Name: "t.N", Fields: []DraftField{{Tag: fmt.Sprintf("%d,%s,name=a", n, word)}, {Tag: fmt.Sprintf("%d,int64,name=b", other)}}}
				m := madeOf(t, d)
				typ := map[byte]protowire.Type{'u': protowire.VarintType, 'f': protowire.Fixed32Type, 'd': protowire.Fixed64Type, 's': protowire.BytesType, 'b': protowire.BytesType}[word[0]]
				if word == "bool" {
					typ = protowire.VarintType
				}
				a := append(protowire.AppendTag(nil, protowire.Number(n), typ), value...)
				b := protowire.AppendVarint(protowire.AppendTag(nil, protowire.Number(other), protowire.VarintType), 300)
				want := append(bytes.Clone(a), b...)
				if other < n {
					want = append(bytes.Clone(b), a...)
				}
				for _, wire := range [][]byte{want, append(bytes.Clone(a), b...), append(bytes.Clone(b), a...)} {
					if _, err := Decode(buf.ViewOf(wire), m, nil, false); err != nil {
						t.Fatalf("%d %s: %v", n, word, err)
					}
					var out buf.Out
					if err := Append(&out, m, 0, false, false); err != nil || !bytes.Equal(out.Bytes(), want) {
						t.Fatalf("%d %s: %x, want %x, %v", n, word, out.Bytes(), want, err)
					}
					out.Reset()
				}
				for i := 1; i < len(a); i++ {
					if _, err := Decode(buf.ViewOf(a[:i]), m, nil, false); err == nil {
						t.Errorf("%d %s: %x is taken", n, word, a[:i])
					}
				}
			}
		}
	}
}

// TestTypesThatCannotBe has types whose error stands in the middle of others.
func TestTypesThatCannotBe(t *testing.T) {
	type leaf struct {
		Bad chan int `proto:"1,int32"`
	}
	type list struct {
		Leaves []*leaf `proto:"1,message"`
	}
	type named struct {
		Lists map[string]*list `proto:"1,map(string,message)"`
	}
	for range 2 { // the second time it is not known any better
		for _, msg := range []any{new(leaf), new(list), new(named)} {
			_, _, err := Of(msg)
			bad, ok := err.(*TypeError)
			if !ok || bad.Type != reflect.TypeFor[leaf]() || bad.Field != "Bad" {
				t.Errorf("%T: %v", msg, err)
			}
		}
	}
}
