package protobuf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/known"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

// TestJSONFaults has what is wrong with a text, where, and how it would be right, in the words of
// Protobuf, for fields of each kind and each well-known type.
func TestJSONFaults(t *testing.T) {
	const noTime = `no time between the years 1 and 9999 as RFC 3339 writes it: `
	for _, tt := range []struct {
		msg   any
		texts map[string]string
	}{
		{new(prototest.All), map[string]string{
			``:                                 `the JSON ends too early at offset 0`,
			`[]`:                               `invalid character '[' where { is expected at offset 0`,
			`{"i32":1`:                         `the JSON ends too early at offset 8`,
			`{"i32":01}`:                       `invalid character '1' where a comma or } is expected at offset 8`,
			`{"i32":1,"i32":2}`:                `the field "i32" or its oneof comes twice at offset 9`,
			`{"i32":1.5}`:                      `invalid value for int32: the number 1.5 in i32 at offset 7`,
			`{"u32":-1}`:                       `invalid value for uint32: the number -1 in u32 at offset 7`,
			`{"u64":"x"}`:                      `invalid value for uint64: the string "x" in u64 at offset 7`,
			`{"bl":1}`:                         `invalid value for bool: the number 1 in bl at offset 6`,
			`{"st":1}`:                         `invalid value for string: the number 1 in st at offset 6`,
			`{"st":"\ud834"}`:                  `invalid character '"' where the other half of a surrogate pair is expected in st at offset 13`,
			"{\"st\":\"\xff\"}":                "invalid character '\ufffd' where UTF-8 is expected in st at offset 7",
			`{"by":"A"}`:                       `invalid value for bytes: the string "A" in by at offset 6`,
			`{"by":5}`:                         `invalid value for bytes: the number 5 in by at offset 6`,
			`{"fl":1e39}`:                      `invalid value for float: the number 1e39 in fl at offset 6`,
			`{"db":"inf"}`:                     `invalid value for double: the string "inf" in db at offset 6`,
			`{"color":"NO"}`:                   `no value of prototest.Color: the string "NO" in color at offset 9`,
			`{"color":true}`:                   `no value of prototest.Color: true in color at offset 9`,
			`{"lcolor":["RED",""]}`:            `no value of prototest.Color: the string "" in lcolor[1] at offset 17`,
			`{"msc":{"a":"NO"}}`:               `no value of prototest.Color: the string "NO" in msc["a"] at offset 12`,
			`{"leaf":[]}`:                      `invalid character '[' where { is expected in leaf at offset 8`,
			`{"li32":{}}`:                      `invalid character '{' where [ is expected in li32 at offset 8`,
			`{"lleaf":[null]}`:                 `invalid character 'n' where { is expected in lleaf[0] at offset 10`,
			`{"mss":[]}`:                       `invalid character '[' where { is expected in mss at offset 7`,
			`{"mil":{"x":{}}}`:                 `the key "x" comes twice, or is none of that type in mil at offset 8`,
			`{"mss":{"a":"b","a":"c"}}`:        `the key "a" comes twice, or is none of that type in mss at offset 16`,
			`{"eitherInt":5,"eitherText":"x"}`: `the field "eitherText" or its oneof comes twice at offset 15`,
			`{"self":{"mxa":{"5":{"lleaf":[{},{"price":"x"}]}}}}`: `invalid value for double: the string "x" in self.mxa["5"].lleaf[1].price at offset 42`,
		}},
		{new(known.Known), map[string]string{
			`{"time":"2024-13-29T12:34:56Z"}`:               noTime + `"2024-13-29T12:34:56Z" in time at offset 8`,
			`{"times":["2024-02-29T12:34:56Z","x"]}`:        noTime + `"x" in times[1] at offset 33`,
			`{"time":5}`:                                    `invalid value for google.protobuf.Timestamp: the number 5 in time at offset 8`,
			`{"length":"1"}`:                                `no seconds within 10,000 years, with an s: "1" in length at offset 10`,
			`{"length":"315576000001s"}`:                    `no seconds within 10,000 years, with an s: "315576000001s" in length at offset 10`,
			`{"mask":"a_b"}`:                                `no path of a field mask: "a_b" in mask at offset 8`,
			`{"mask":5}`:                                    `invalid value for google.protobuf.FieldMask: the number 5 in mask at offset 8`,
			`{"list":{}}`:                                   `invalid character '{' where [ is expected in list at offset 8`,
			`{"object":[1]}`:                                `invalid character '[' where { is expected in object at offset 10`,
			`{"object":{"a":1,"a":2}}`:                      `the key "a" comes twice, or is none of that type in object at offset 17`,
			`{"values":[1,x]}`:                              `invalid character 'x' where a value is expected in values[1] at offset 13`,
			`{"wInt32":{"value":1}}`:                        `invalid value for int32: an object in wInt32 at offset 10`,
			`{"wBool":"true"}`:                              `invalid value for bool: the string "true" in wBool at offset 9`,
			`{"wBytes":"A"}`:                                `invalid value for bytes: the string "A" in wBytes at offset 10`,
			`{"empty":{"a":1}}`:                             `Empty has no field "a"; there is none in empty at offset 10`,
			`{"empty":5}`:                                   `invalid character '5' where { is expected in empty at offset 9`,
			`{"null":"no"}`:                                 `no value of known.NullValue: the string "no" in null at offset 8`,
			`{"oneNull":null,"oneValue":1}`:                 `the field "oneValue" or its oneof comes twice at offset 16`,
			`{"any":{"id":1}}`:                              `an Any without @type in any at offset 8`,
			`{"any":{"@type":5}}`:                           `@type is a name, once in any at offset 16`,
			`{"any":{"@type":"x/no.Type"}}`:                 `an Any of "x/no.Type": the message is not known in any at offset 8`,
			`{"any":{"@type":"x/prototest.Leaf","a":1}}`:    `Leaf has no field "a"; known are id, name, price in any at offset 35`,
			`{"any":{"@type":"x/prototest.Leaf","name":1}}`: `invalid value for string: the number 1 in any.name at offset 42`,
			`{"any":{"@type":"x/prototest.Leaf","@type":"x/prototest.Leaf"}}`:                         `@type is a name, once in any at offset 43`,
			`{"any":{"@type":"x/google.protobuf.Timestamp"}}`:                                         `required field is missing: value in any at offset 46`,
			`{"any":{"@type":"x/google.protobuf.Timestamp","value":"x"}}`:                             noTime + `"x" in any at offset 54`,
			`{"anys":[{},{"@type":"x/prototest.Known","any":{"@type":"x/prototest.Leaf","name":7}}]}`: `invalid value for string: the number 7 in anys[1].any.name at offset 82`,
		}},
	} {
		for text, want := range tt.texts {
			err := protobuf.JSON{Any: anyOf}.Decode(buf.ViewOf([]byte(text)), tt.msg, nil)
			if got := fmt.Sprint(err); got != "InvalidArgument: decode: protobuf: "+want {
				t.Errorf("%s: %s\nwant %s", text, got, want)
			}
		}
	}
}

// TestUnwritable has well-known values that JSON cannot have, alone and deep within a message.
func TestUnwritable(t *testing.T) {
	holds := func(url, value string) *known.Known {
		return &known.Known{Any: &known.Any{TypeUrl: url, Value: []byte(value)}}
	}
	inner, err := protobuf.Marshal(&known.Known{Time: &known.Timestamp{Nanos: -1}})
	if err != nil {
		t.Fatal(err)
	}
	const noTime, noLength = "known.Timestamp: is no time between the years 1 and 9999", "known.Duration: is no length of time within 10,000 years"
	for _, tt := range []struct {
		msg *known.Known
		why string
	}{
		{&known.Known{Time: &known.Timestamp{Seconds: 1 << 40}}, noTime},
		{&known.Known{Time: &known.Timestamp{Nanos: -1}}, noTime},
		{&known.Known{Times: []*known.Timestamp{{}, {Nanos: 1e9}}}, noTime},
		{&known.Known{Length: &known.Duration{Seconds: 1 << 50}}, noLength},
		{&known.Known{Length: &known.Duration{Seconds: 1, Nanos: -1}}, noLength}, // the signs differ
		{&known.Known{Mask: &known.FieldMask{Paths: []string{"fine", "aB"}}}, `known.FieldMask: has the path "aB", which does not come back from JSON`},
		{&known.Known{Value: &known.Value{}}, "known.Value: has no value"},
		{&known.Known{Values: []*known.Value{{Kind: &known.ValueBool{}}, {}}}, "known.Value: has no value"},
		{holds("", "x"), `known.Any: holds "": the message is not known`},
		{holds("x/", ""), `known.Any: holds "x/": the message is not known`},
		{holds("x/no.Type", ""), `known.Any: holds "x/no.Type": the message is not known`},
		{holds("x/prototest.Leaf", "\xff"), `known.Any: holds "x/prototest.Leaf": InvalidArgument: decode: protobuf: truncated`},
		{holds("x/prototest.Known", string(inner)), noTime},
	} {
		var out buf.Out
		out.AppendString("kept")
		err := protobuf.JSON{Any: anyOf}.Append(&out, tt.msg)
		_, ok := errors.AsType[*protobuf.TypeError](err)
		if !ok || rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%v: %v, want %s", protobuf.String(tt.msg), err, tt.why)
		}
		if string(out.Bytes()) != "kept" {
			t.Errorf("%v: the output has %q", protobuf.String(tt.msg), out.Bytes())
		}
		out.Reset()
	}
}

// TestJSONMutants gives both run times texts with a few wrong bytes.
func TestJSONMutants(t *testing.T) {
	for i, texts := range jsonSeeds() {
		r := prototest.NewFiller(uint64(i))
		for _, text := range texts {
			for range 20 {
				b := []byte(text)
				for range 1 + r.IntN(3) {
					b = mutate(r, b)
				}
				sameJSONVerdict(t, jsonPairs()[i], string(b))
			}
		}
	}
}
