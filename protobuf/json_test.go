package protobuf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/known"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/pb"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

// anyOf makes what an Any may hold in these tests.
func anyOf(name string) any {
	switch name {
	case "prototest.Leaf":
		return new(prototest.Leaf)
	case "prototest.All":
		return new(prototest.All)
	case "prototest.Known":
		return new(known.Known)
	case "google.protobuf.Timestamp":
		return new(known.Timestamp)
	case "google.protobuf.Any":
		return new(known.Any)
	case "google.protobuf.Value":
		return new(known.Value)
	case "google.protobuf.Empty":
		return new(known.Empty)
	case "google.protobuf.Int64Value":
		return new(known.Int64Value)
	}
	return nil
}

func jsonPairs() []pair {
	return append(pairs(), pair{"Known", func() any { return new(known.Known) }, func() proto.Message { return new(pb.Known) }})
}

// jsonText encodes a message.
func jsonText(c protobuf.JSON, msg any) (string, error) {
	var out buf.Out
	defer out.Reset()
	err := c.Append(&out, msg)
	return string(out.Bytes()), err
}

// wire is a message in the binary format, to compare by.
func wire(t *testing.T, msg any) []byte {
	t.Helper()
	b, err := ordered.AppendBytes(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestJSONOracle writes random messages by both run times and reads them by the other one.
func TestJSONOracle(t *testing.T) {
	styles := []struct {
		ours protobuf.JSON
		opts protojson.MarshalOptions
	}{
		{protobuf.JSON{Any: anyOf}, protojson.MarshalOptions{}},
		{protobuf.JSON{Any: anyOf, ProtoNames: true, Numbers: true}, protojson.MarshalOptions{UseProtoNames: true, UseEnumNumbers: true}},
		{protobuf.JSON{Any: anyOf, Defaults: true}, protojson.MarshalOptions{EmitDefaultValues: true}},
	}
	sent := 0
	for _, p := range jsonPairs() {
		for seed := range uint64(60) {
			r := prototest.NewFiller(seed)
			r.Depth = 1 + int(seed%2)
			msg := p.ours()
			r.Message(msg)
			repair(msg)
			b := wire(t, msg)
			their := p.their()
			if err := proto.Unmarshal(b, their); err != nil {
				t.Fatal(err)
			}
			for _, s := range styles {
				if s.ours.ProtoNames && p.name == "Old" {
					continue // a group is called by its type there, which a Go struct does not know
				}
				got, err := jsonText(s.ours, msg)
				want, bad := s.opts.Marshal(their)
				if (err == nil) != (bad == nil) {
					t.Fatalf("%s %d: %v, the official run time says %v", p.name, seed, err, bad)
				}
				if err != nil {
					continue
				}
				sent++
				if !sameJSON(got, string(want)) {
					t.Fatalf("%s %d:\n%s\nwant\n%s", p.name, seed, got, want)
				}
				back, theirs := p.ours(), p.their()
				if err := s.ours.Decode(buf.ViewOf(want), back, deep); err != nil {
					t.Fatalf("%s %d: %v of %s", p.name, seed, err, want)
				}
				if err := protojson.Unmarshal([]byte(got), theirs); err != nil {
					t.Fatalf("%s %d: the official run time: %v of %s", p.name, seed, err, got)
				}
				again, err := official.Marshal(theirs)
				if mine := wire(t, back); err != nil || !bytes.Equal(mine, again) {
					t.Fatalf("%s %d: %s became\n%x, want\n%x", p.name, seed, got, mine, again)
				}
			}
		}
	}
	if sent < 250 {
		t.Errorf("only %d messages could be sent", sent)
	}
}

// repair makes random well-known types ones that can be sent, most of the time.
func repair(msg any) {
	m, ok := msg.(*known.Known)
	if !ok {
		return
	}
	if m.Time != nil {
		m.Time.Seconds, m.Time.Nanos = m.Time.Seconds%1e9, int32(uint32(m.Time.Nanos)%1e9)
	}
	for _, x := range m.Times {
		x.Seconds, x.Nanos = x.Seconds%1e9, 0
	}
	if m.Length != nil {
		m.Length.Seconds, m.Length.Nanos = m.Length.Seconds%1e9, 0
	}
	if m.Mask != nil {
		m.Mask.Paths = []string{"a", "b.c_d", "long_name.x9"}
	}
	m.Null, m.Nulls, m.Anys = 0, m.Nulls[:min(len(m.Nulls), 1)], nil
	for i := range m.Nulls {
		m.Nulls[i] = 0
	}
	if m.Any != nil {
		m.Any = &known.Any{TypeUrl: "type.googleapis.com/prototest.Leaf", Value: []byte("\x08\x05")}
	}
}

// sameJSON tells whether two texts mean the same.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// FuzzJSON gives both run times any text: they have to take the same, and to make the same of it.
func FuzzJSON(f *testing.F) {
	for i, texts := range jsonSeeds() {
		for _, text := range texts {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		sameJSONVerdict(t, jsonPairs()[int(which)%4], text)
	})
}

// sameJSONVerdict holds what is made of a text against the official run time.
func sameJSONVerdict(t *testing.T, p pair, text string) {
	t.Helper()
	their, ours := p.their(), p.ours()
	bad := protojson.Unmarshal([]byte(text), their)
	err := protobuf.JSON{Any: anyOf}.Decode(buf.ViewOf([]byte(text)), ours, deep)
	if err != nil {
		var syntax *protobuf.SyntaxError
		if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset < 0 || syntax.Offset > len(text) {
			t.Fatalf("%s %q: %v", p.name, text, err)
		}
		// Here are fewer types that an Any may hold. The official run time takes 1e, which is no JSON.
		if bad == nil && !strings.Contains(text, "@type") && !strings.Contains(syntax.Why, "where a digit is") {
			t.Fatalf("%s %q: %v, which the official run time takes", p.name, text, err)
		}
		return
	}
	if bad != nil {
		t.Fatalf("%s %q is taken, and the official run time says %v", p.name, text, bad)
	}
	want, bad := official.Marshal(their)
	if got, err := ordered.AppendBytes(nil, ours); err != nil || bad != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s %q became\n%x, want\n%x, %v", p.name, text, got, want, err)
	}
}

// jsonSeeds are texts for All, Old, Leaf and Known, right and wrong.
func jsonSeeds() [4][]string {
	return [4][]string{
		{
			`{}`, ` { } `, `{"i32":1}`, `{"i32":"1"}`, `{"i32":1.0}`, `{"i32":1e2}`, `{"i32":1.5}`, `{"i32":"1e2"}`, `{"i32":" 1"}`, `{"i32":""}`, `{"i32":-0}`, `{"i32":2147483648}`, `{"i32":null}`, `{"i32":true}`,
			`{"i32":1,"i32":2}`, `{"i32":1,}`, `{"i32":1}x`, `[]`, `null`, ``, `{"i32":1e-2}`, `{"i32":100e-2}`, `{"i32":0e5000}`, `{"i32":0.0e5000}`, `{"i32":1e99999999999}`, `{"i32":01}`, `{"u32":-0}`, `{"u32":"-0"}`, `{"u32":-1}`,
			`{"i64":"9223372036854775807"}`, `{"i64":9223372036854775808}`, `{"u64":18446744073709551615}`, `{"u64":1.8446744073709551615e19}`, `{"bl":true,"st":"a\u00e9\n"}`, `{"st":"\ud834"}`, `{"st":"\ud834\udd1e"}`, "{\"st\":\"\xff\"}", `{"st":1}`,
			`{"by":"AQID"}`, `{"by":"AQI="}`, `{"by":"AQI"}`, `{"by":"A"}`, `{"by":"_-8="}`, `{"by":"/+8"}`, `{"by":"_+8"}`, `{"by":"AQ=="}`, `{"by":"AQ="}`, `{"by":"A Q="}`, `{"by":"AQ\n=="}`,
			`{"fl":1e39}`, `{"fl":"NaN"}`, `{"fl":"Infinity"}`, `{"fl":NaN}`, `{"db":"-Infinity"}`, `{"db":"1.5"}`, `{"db":1e400}`, `{"db":"inf"}`, `{"fl":3.4028235e38,"db":-0}`,
			`{"color":"RED"}`, `{"color":1}`, `{"color":"1"}`, `{"color":-5}`, `{"color":77}`, `{"color":"NO"}`, `{"color":null}`, `{"color":1.0}`, `{"color":""}`,
			`{"leaf":{"id":"5","name":"x"},"self":{"leaf":null}}`, `{"leaf":{"no":1}}`, `{"leaf":5}`, `{"leaf":[]}`, `{"li32":[1,"2",3.0]}`, `{"li32":[null]}`, `{"li32":{}}`, `{"li32":null}`, `{"lst":["",null]}`, `{"lleaf":[{},{"id":1}]}`, `{"lleaf":[null]}`,
			`{"mss":{"a":"b","":""}}`, `{"mss":{"a":"b","a":"c"}}`, `{"mss":{"a":null}}`, `{"mil":{"1":{},"-2":{"id":3}}}`, `{"mil":{"x":{}}}`, `{"mil":{"1":{},"01":{}}}`, `{"mbb":{"true":"AA==","false":""}}`, `{"mbb":{"True":""}}`, `{"muz":{"18446744073709551615":-1}}`, `{"msc":{"a":"RED","b":1}}`, `{"msc":{"a":"NO"}}`,
			`{"eitherInt":5}`, `{"either_int":5}`, `{"eitherInt":5,"eitherText":"x"}`, `{"eitherInt":null,"eitherText":"x"}`, `{"eitherInt":5,"eitherText":null}`, `{"eitherLeaf":{}}`, `{"either":{}}`, `{"m9":{"id":1},"eitherColor":"BLUE"}`,
			`{"oi32":0,"oby":"","ost":"","ocolor":0,"obl":false}`, `{"i32":1 "i64":2}`, `{"a":1}`, `{"I32":1}`, `{"st":"a`, `{"self":{"self":{"self":{"li64":["1",2]}}}}`, `{"[x.y]":1}`, "{\"st\":\"\x01\"}", `{"st":"\x"}`,
		},
		{`{"id":1,"last":"x"}`, `{"id":1}`, `{"id":1,"last":"x","part":{"live":true,"inner":[{"name":"n"}]}}`, `{"id":1,"last":"x","part":{}}`, `{"id":1,"last":null}`, `{"id":1,"last":"x","named":{"a":{}}}`},
		{`{"id":"1","name":"n","price":1.5}`, `{"id":1,"name":"n","price":"1.5"}`},
		{
			`{"time":"2024-02-29T12:34:56Z"}`, `{"time":"2024-02-29T12:34:56.123456789+01:30"}`, `{"time":"2023-02-29T12:34:56Z"}`, `{"time":"0000-12-31T00:00:00Z"}`, `{"time":"9999-12-31T23:59:59.999999999Z"}`, `{"time":"9999-12-31T23:59:59-01:00"}`, `{"time":"2024-02-29T12:34:56.1234567890Z"}`, `{"time":"2024-02-29 12:34:56Z"}`, `{"time":"2024-02-29t12:34:56z"}`, `{"time":5}`, `{"time":null}`, `{"times":[null]}`, `{"time":"2024-02-29T12:34:56,5Z"}`,
			`{"length":"1.5s"}`, `{"length":"-1.000000001s"}`, `{"length":"+3s"}`, `{"length":"1"}`, `{"length":"01s"}`, `{"length":".5s"}`, `{"length":"1.s"}`, `{"length":".s"}`, `{"length":"-s"}`, `{"length":"315576000000s"}`, `{"length":"315576000001s"}`, `{"length":"1.0000000001s"}`, `{"length":"1 s"}`, `{"length":"0s"}`, `{"length":"00s"}`, `{"length":"99999999999999999999s"}`, `{"length":"-0.5s"}`,
			`{"mask":"a,bC.dE"}`, `{"mask":""}`, `{"mask":"a_b"}`, `{"mask":"a..b"}`, `{"mask":" a,b "}`, `{"mask":"a, b"}`, `{"mask":"1a"}`, `{"mask":"A"}`, `{"mask":","}`,
			`{"object":{"a":1,"b":[null,true,"x",{"c":{}}]}}`, `{"object":null}`, `{"object":{"a":1,"a":2}}`, `{"value":null}`, `{"value":1e5}`, `{"value":"NaN"}`, `{"value":{}}`, `{"value":[[[]]]}`, `{"value":1e999}`, `{"list":[1,null]}`, `{"values":[null,1,{}]}`, `{"named":{"a":null,"b":"c"}}`, `{"list":{}}`,
			`{"null":null}`, `{"null":"NULL_VALUE"}`, `{"null":0}`, `{"null":5}`, `{"nulls":[null,0]}`, `{"oneNull":null}`, `{"oneNull":null,"oneValue":1}`, `{"oneValue":null}`, `{"oneInt64":null}`, `{"OTHER":"x"}`, `{"one_text":"x"}`, `{"oneText":"x"}`,
			`{"wDouble":1.5,"wFloat":"NaN","wInt64":"5","wUint64":"6","wInt32":7,"wUint32":8,"wBool":true,"wString":"s","wBytes":"AA=="}`, `{"wInt32":null}`, `{"wInt32":0}`, `{"wInt32":{"value":1}}`, `{"wBool":"true"}`, `{"empty":{}}`, `{"empty":null}`, `{"empty":{"a":1}}`,
			`{"any":{}}`, `{"any":{"@type":"type.googleapis.com/prototest.Leaf","id":"5"}}`, `{"any":{"id":"5","@type":"x/prototest.Leaf"}}`, `{"any":{"@type":"x/google.protobuf.Timestamp","value":"2024-02-29T12:34:56Z"}}`, `{"any":{"@type":"x/google.protobuf.Timestamp"}}`, `{"any":{"@type":"x/google.protobuf.Timestamp","value":"2024-02-29T12:34:56Z","x":1}}`, `{"any":{"@type":"x/no.Type"}}`, `{"any":{"id":1}}`, `{"any":{"@type":"x/prototest.Leaf","@type":"x/prototest.Leaf"}}`, `{"any":{"@type":""}}`, `{"any":{"@type":5}}`,
			`{"any":{"@type":"x/google.protobuf.Any","value":{"@type":"x/google.protobuf.Value","value":[1]}}}`, `{"any":{"@type":"prototest.Leaf"}}`, `{"any":{"@type":"x/google.protobuf.Empty","value":{}}}`, `{"any":{"@type":"x/google.protobuf.Int64Value","value":"7"}}`, `{"anys":[{},{"@type":"x/prototest.Known","any":{"@type":"x/prototest.Leaf","name":"n"}}]}`,
		},
	}
}

// TestJSONVerdicts reads the seeds, and all of their beginnings.
func TestJSONVerdicts(t *testing.T) {
	for i, texts := range jsonSeeds() {
		for _, text := range texts {
			for n := range len(text) + 1 {
				sameJSONVerdict(t, jsonPairs()[i], text[:n])
			}
		}
	}
}

// TestJSONDiscard passes over what is not known.
func TestJSONDiscard(t *testing.T) {
	for _, text := range []string{`{"a":{"b":[1,{"c":null}]},"i32":1}`, `{"color":"NO","i32":1}`, `{"lcolor":["NO"],"i32":1}`, `{"msc":{"a":"NO"},"i32":1}`, `{"[x.y]":1,"i32":1,"eitherColor":"NO"}`} {
		their, ours := new(pb.All), new(prototest.All)
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), their); err != nil {
			t.Fatal(err)
		}
		if err := (protobuf.JSON{Discard: true}).Decode(buf.ViewOf([]byte(text)), ours, nil); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, _ := official.Marshal(their)
		if got := wire(t, ours); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", text, got, want)
		}
	}
}

// extended is a message with extensions, and extra is some of them.
type extended struct {
	ID int32 `proto:"1,int32,name=id"`

	unknown []byte `proto:"unknown"`
}

func (*extended) ProtoName() string { return "test.Extended" }

type extra struct {
	Count *int32            `proto:"100,int32,explicit,json=[test.count]"`
	Leaf  *prototest.Leaf   `proto:"101,message,json=[test.leaf]"`
	Named []prototest.Color `proto:"102,enum,packed,json=[test.named]"`
}

// TestJSONExtensions has extensions in JSON, which are unknown fields of their message.
func TestJSONExtensions(t *testing.T) {
	c := protobuf.JSON{Extensions: func(name string) []any {
		if name == "test.Extended" {
			return []any{new(extra)}
		}
		return nil
	}}
	const text = `{"id":1,"[test.count]":0,"[test.leaf]":{"name":"n"},"[test.named]":["RED"]}`
	msg := new(extended)
	if err := c.Decode(buf.ViewOf([]byte(text)), msg, nil); err != nil || string(msg.unknown) != "\xa0\x06\x00\xaa\x06\x03\x12\x01n\xb2\x06\x01\x01" {
		t.Fatalf("%x, %v", msg.unknown, err)
	}
	if got, err := jsonText(c, msg); err != nil || got != text {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := jsonText(protobuf.JSON{}, msg); err != nil || got != `{"id":1}` {
		t.Errorf("%s, %v", got, err)
	}
	if err := c.Decode(buf.ViewOf([]byte(`{"[test.count]":null,"[test.leaf]":{}}`)), msg, nil); err != nil || string(msg.unknown) != "\xaa\x06\x00" {
		t.Errorf("%x, %v", msg.unknown, err)
	}
	for _, bad := range []string{`{"[test.none]":1}`, `{"[test.count]":1,"[test.count]":2}`, `{"[test.count]":"x"}`, `{"test.count":1}`} {
		if err := c.Decode(buf.ViewOf([]byte(bad)), msg, nil); rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestJSONPaths has errors that name the way to what is wrong, and what would be right.
func TestJSONPaths(t *testing.T) {
	for text, want := range map[string]string{
		`{"i32":"x"}`:                        `protobuf: invalid value for int32: the string "x" in i32 at offset 7`,
		`{"nope":1}`:                         `All has no field "nope"; known are `,
		`{"self":{"lself":[{},{"i64":[]}]}}`: ` in self.lself[1].i64 at offset 28`,
		`{"self":{"lself":[{},{"x":1}]}}`:    ` in self.lself[1] at offset 22`,
		`{"mss":{"a":"b","c":true}}`:         ` in mss["c"] at offset 20`,
		`{"lself":[{}],"i64":true}`:          ` in i64 at offset 20`,
		`{"i64":1}]`:                         `protobuf: bytes after the end at offset 9`,
	} {
		err := protobuf.UnmarshalJSON([]byte(text), new(prototest.All))
		var syntax *protobuf.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// TestJSONLimits has texts that are too deep or would take too much.
func TestJSONLimits(t *testing.T) {
	for _, text := range []string{
		strings.Repeat(`{"self":`, 200) + "{}" + strings.Repeat("}", 200), strings.Repeat(`{"self":`, 1_000_000),
		`{"lself":[` + strings.Repeat(`{},`, 100_000) + `{}]}`, `{"lleaf":[` + strings.Repeat(`{},`, 1_000_000) + `{}]}`, `{"x":` + strings.Repeat("[", 1_000_000),
	} {
		for _, c := range []protobuf.JSON{{}, {Discard: true}} {
			if err := c.Decode(buf.ViewOf([]byte(text)), new(prototest.All), nil); rpc.CodeOf(err) != rpc.InvalidArgument {
				t.Errorf("%.30s: %v", text, err)
			}
		}
	}
	ring := new(prototest.All)
	ring.Self = ring
	if _, err := protobuf.MarshalJSON(ring); rpc.CodeOf(err) != rpc.Internal {
		t.Error(err)
	}
	if b, err := protobuf.MarshalJSON(&prototest.All{I64: 5}); err != nil || string(b) != `{"i64":"5"}` || protobuf.UnmarshalJSON(b, ring) != nil || ring.I64 != 5 || ring.Self != nil {
		t.Errorf("%s, %v", b, err)
	}
}
