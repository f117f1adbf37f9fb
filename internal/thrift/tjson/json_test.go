package tjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/internal/thrift/tjson"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func jsonOf(t testing.TB, msg any) string {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := (thrift.JSON{}).Append(&out, msg); err != nil {
		t.Fatal(err)
	}
	return string(out.Bytes())
}

func fromJSON(text string, msg any) error {
	return thrift.JSON{}.Decode(buf.ViewOf([]byte(text)), msg, rpc.Limits{}.WithDefaults())
}

func TestJSONRandomRoundTrips(t *testing.T) {
	for seed := range uint64(200) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 0))}
		want, got := new(thrifttest.Everything), new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(want).Elem(), true, false)
		text := jsonOf(t, want)
		if err := fromJSON(text, got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: decoded\n%.2000v; want\n%.2000v", seed, got, want)
		}
		// All of it can be skipped, and what is read besides is left out.
		if err := fromJSON(text, new(struct{})); err != nil {
			t.Fatalf("seed %d: skipped: %v", seed, err)
		}
		want.LeafPairs, want.ListPairs, want.BytesPairs = nil, nil, nil // are no JSON
		if text := jsonOf(t, want); !json.Valid([]byte(text)) {
			t.Fatalf("seed %d: %s", seed, text)
		}
	}
}

func TestJSONText(t *testing.T) {
	type M = map[string]int32
	for _, tt := range []struct {
		name string
		msg  any
		text string
	}{
		{"scalars", &struct {
			A bool             `thrift:"a,1"`
			B int8             `thrift:"b,-2"`
			C int16            `thrift:"c,3"`
			D thrifttest.Color `thrift:"d,4"`
			E int64            `thrift:"e,5"`
			F float64          `thrift:"f,6"`
			G thrift.UUID      `thrift:"g,7"`
			H *bool            `thrift:"h,8,optional"`
			I *bool            `thrift:"i,9,optional"`
		}{true, -2, 3, 4, math.MinInt64, 1.5, thrift.UUID{1, 15: 2}, new(false), nil},
			`{"1":{"tf":1},"-2":{"i8":-2},"3":{"i16":3},"4":{"i32":4},"5":{"i64":-9223372036854775808},"6":{"dbl":1.5},"7":{"uid":"01000000-0000-0000-0000-000000000002"},"8":{"tf":0}}`},
		{"doubles", &struct {
			A []float64 `thrift:"a,1"`
		}{[]float64{0, -1e300, math.Inf(1), math.Inf(-1), 1e21, math.SmallestNonzeroFloat64}},
			`{"1":{"lst":["dbl",6,0,-1e+300,"Infinity","-Infinity",1e+21,5e-324]}}`},
		{"strings", &struct {
			A string `thrift:"a,1"`
			B []byte `thrift:"b,2"`
			C []byte `thrift:"c,3"`
		}{"a\"\\\n\x01ü\U0001f426/<\u2028", []byte{1, 2}, nil},
			`{"1":{"str":"a\"\\\u000a\u0001ü` + "\U0001f426/<\u2028" + `"},"2":{"str":"AQI="},"3":{"str":""}}`},
		{"containers", &struct {
			A []*thrifttest.Leaf                   `thrift:"a,1"`
			B thrift.Set[int64]                    `thrift:"b,2"`
			C M                                    `thrift:"c,3"`
			D map[bool]M                           `thrift:"d,4"`
			E map[float64]thrifttest.Color         `thrift:"e,5"`
			F thrift.Pairs[*thrifttest.Leaf, int8] `thrift:"f,6"`
			G map[thrift.UUID]bool                 `thrift:"g,7"`
			H []string                             `thrift:"h,8,optional"`
		}{[]*thrifttest.Leaf{{ID: 1}}, nil, M{"x": 5}, map[bool]M{true: {}}, map[float64]thrifttest.Color{math.Inf(1): 1}, thrift.Pairs[*thrifttest.Leaf, int8]{{Key: &thrifttest.Leaf{}, Value: 1}}, nil, nil},
			`{"1":{"lst":["rec",1,{"1":{"i64":1},"2":{"str":""}}]},"2":{"set":["i64",0]},"3":{"map":["str","i32",1,{"x":5}]},` +
				`"4":{"map":["tf","map",1,{"1":["str","i32",0,{}]}]},"5":{"map":["dbl","i32",1,{"Infinity":1}]},` +
				`"6":{"map":["rec","i8",1,{{"1":{"i64":0},"2":{"str":""}}:1}]},"7":{"map":["uid","tf",0,{}]}}`},
		{"unions", &struct {
			A thrifttest.Either   `thrift:"a,1"`
			B []thrifttest.Either `thrift:"b,2"`
		}{&thrifttest.EitherText{Text: "x"}, []thrifttest.Either{&thrifttest.EitherNumber{Number: 2}}}, `{"1":{"rec":{"2":{"str":"x"}}},"2":{"lst":["rec",1,{"1":{"i64":2}}]}}`},
		{"nothing", &struct{}{}, `{}`},
	} {
		if got := jsonOf(t, tt.msg); got != tt.text {
			t.Errorf("%s: encoded as\n%s; want\n%s", tt.name, got, tt.text)
			continue
		}
		fresh := reflect.New(reflect.TypeOf(tt.msg).Elem())
		if err := fromJSON(tt.text, fresh.Interface()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again := jsonOf(t, fresh.Interface()); again != tt.text {
			t.Errorf("%s: decoded and encoded as\n%s; want\n%s", tt.name, again, tt.text)
		}
		for i := range tt.text {
			var syntax *thrift.SyntaxError
			err := fromJSON(tt.text[:i], reflect.New(reflect.TypeOf(tt.msg).Elem()).Interface())
			if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument ||
				(syntax.Why != "truncated" || syntax.Offset != i) && (syntax.Why != "size beyond the end" || syntax.Offset >= i) {
				t.Errorf("%s: prefix of %d: %v", tt.name, i, err)
			}
		}
	}
	if got := jsonOf(t, &thrifttest.Leaf{Name: "a\xffb"}); got != `{"1":{"i64":0},"2":{"str":"a�b"}}` {
		t.Errorf("no UTF-8: %s", got)
	}
}

func TestJSONIsLenient(t *testing.T) {
	type M struct {
		Bool  bool              `thrift:"bool,1"`
		I32   int32             `thrift:"i32,2"`
		List  []int32           `thrift:"list,3"`
		Map   map[int8]string   `thrift:"map,4"`
		Bytes []byte            `thrift:"bytes,5"`
		Text  string            `thrift:"text,6"`
		F     float64           `thrift:"f,7"`
		E     thrifttest.Either `thrift:"e,8"`
	}
	for in, want := range map[string]M{
		" { \"1\" : { \"tf\" : 1 } ,\n\"2\":{\"i32\":\"7\"} } ":              {Bool: true, I32: 7},
		`{"2":{"i32":1},"2":{"i32":2}}`:                                      {I32: 2},
		`{"99":{"rec":{"1":{"map":["i8","rec",1,{"1":{}}]}}},"2":{"i32":1}}`: {I32: 1},
		`{"99":{"i8":null},"98":{"tf":true},"97":{"lst":[false,"x\"]"]}}`:    {},
		`{"2":{"i64":1}}`:                                                {},
		`{"3":{"lst":["i64",1,1]},"2":{"i32":1}}`:                        {I32: 1},
		`{"3":{"lst":["i64",0]}}`:                                        {List: []int32{}},
		`{"3":{"set":["i32",1,1]}}`:                                      {},
		`{"4":{"map":["i8","str",2,{"1":"a","2":"b"}]}}`:                 {Map: map[int8]string{1: "a", 2: "b"}},
		`{"4":{"map":["str","str",1,{"1":"a"}]}}`:                        {},
		`{"4":{"map":["str","str",0,{}]}}`:                               {Map: map[int8]string{}},
		`{"5":{"str":"AQI"}}`:                                            {Bytes: []byte{1, 2}},
		`{"5":{"str":"AQI="}}`:                                           {Bytes: []byte{1, 2}},
		`{"6":{"str":"\u00fc\n\/\b\f\r\t\"\\\ud83d\udc26\ud83d\u0041"}}`: {Text: "ü\n/\b\f\r\t\"\\\U0001f426�A"},
		`{"7":{"dbl":"-Infinity"}}`:                                      {F: math.Inf(-1)},
		`{"7":{"dbl":12}}`:                                               {F: 12},
		`{"8":{"rec":{"99":{"str":""},"2":{"str":"x"},"1":{"i64":3},"3":{"str":""}}}}`: {E: &thrifttest.EitherNumber{Number: 3}},
	} {
		var got M
		if err := fromJSON(in, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", in, got, err, want)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	deep := strings.Repeat(`{"4":{"rec":`, 70)
	for _, tt := range []struct {
		in, why string
		offset  int
	}{
		{`[]`, "invalid character '[' where { is expected", 0},
		{`{} x`, "bytes after the end", 3},
		{`{"x":{"i32":1}}`, "no integer of 16 bits", 1},
		{`{"40000":{"i32":1}}`, "no integer of 16 bits", 1},
		{`{"1":{"int":1}}`, `unknown type "int"`, 6},
		{`{"1":{"i32":1.5}}`, "no integer of 32 bits", 12},
		{`{"1":{"i32":3000000000}}`, "no integer of 32 bits", 12},
		{`{"1":{"i32":null}}`, "there is no number", 12},
		{`{"1":{"i32":1}`, "truncated", 14},
		{`{"1":{"i32":1},}`, "there is no number", 15},
		{`{"2":{"lst":["rec",-1]}}`, "negative size", 19},
		{`{"2":{"lst":["rec",2147483648]}}`, "size beyond the end", 19},
		{`{"2":{"lst":["rec",5]}}`, "size beyond the end", 19},
		{`{"2":{"lst":["rec",1]}}`, "invalid character ']' where , is expected", 20},
		{`{"2":{"lst":["rec",1,{},{}]}}`, "invalid character ',' where ] is expected", 23},
		{`{"3":{"map":["str","rec",1,{}]}}`, "invalid character '}' where \" is expected", 28},
		{`{"3":{"map":["str","rec",2000,{}]}}`, "size beyond the end", 25},
		{`{"99":{"str":"a` + "\n" + `"}}`, `invalid character '\n' where a character of a string, which is escaped, is expected`, 15},
		{`{"99":{"str":nul}}`, "invalid character '}' where null is expected", 16},
		{`{"99":{"str":{"a"}}}`, "invalid character '}' where : is expected", 17},
		{deep, "nested too deeply", 64 * 12},
		{`{"99":{"rec":` + strings.Repeat("[", 1000), "nested too deeply", 13 + 126},
		{`{"99":{"rec":` + strings.Repeat("[", 2_000_000), "nested too deeply", 13 + 126},
	} {
		var syntax *thrift.SyntaxError
		if err := fromJSON(tt.in, new(thrifttest.Tree)); !errors.As(err, &syntax) || syntax.Why != tt.why || syntax.Offset != tt.offset || rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Errorf("%.60s: %v; want %q at %d", tt.in, err, tt.why, tt.offset)
		}
	}
	for in, why := range map[string]string{
		`{"9":{"uid":"x"}}`: "no UUID", `{"8":{"str":"*"}}`: "no base64", `{"7":{"str":"\x"}}`: "invalid character 'x' where an escape is expected", `{"7":{"str":"\u12"}}`: "invalid character '\"' where a hexadecimal digit is expected",
		`{"6":{"dbl":"inf"}}`: "no double", `{"6":{"dbl":"0x1"}}`: "no double", `{"6":{"dbl":1e999}}`: "no double", `{"1":{"tf":true}}`: "there is no number",
	} {
		var syntax *thrift.SyntaxError
		if err := fromJSON(in, new(thrifttest.Everything)); !errors.As(err, &syntax) || syntax.Why != why || !strings.HasPrefix(syntax.Path, "Everything.") {
			t.Errorf("%s: %v; want %q", in, err, why)
		}
	}
	if err := fromJSON(`{"1":{"i32":1},"2":{"str":""}}`, new(thrifttest.Strict)); err == nil || !strings.Contains(err.Error(), "required field is missing in Strict.c") {
		t.Errorf("a required field: %v", err)
	}
	if err := (thrift.JSON{}).Append(new(buf.Out), &thrifttest.Strict{}); rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "Strict.C: is required and nil") {
		t.Errorf("nil required struct: %v", err)
	}
	next := &thrifttest.Tree{}
	next.Children = []*thrifttest.Tree{next}
	if err := (thrift.JSON{}).Append(new(buf.Out), next); err == nil || !strings.Contains(err.Error(), "refers to itself") {
		t.Errorf("a cycle: %v", err)
	}
}

func TestJSONSmallMessagesCannotCostMuch(t *testing.T) {
	for name, in := range map[string]string{
		"structs": `{"1":{"lst":["rec",100000` + strings.Repeat(",{}", 100_000) + `]}}`,
		"entries": `{"5":{"map":["i8","rec",100000,{` + strings.Repeat(`"1":{},`, 99_999) + `"1":{}}]}}`,
		"fields":  `{` + strings.Repeat(`"11":{"rec":{}},`, 99_999) + `"11":{"rec":{}}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := fromJSON(in, new(thrifttest.Bomb))
		runtime.ReadMemStats(&after)
		// Reflection allocates besides what is charged.
		if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(20*len(in)+256<<10) {
			t.Errorf("%s: %d bytes of memory for %d, %v", name, spent, len(in), err)
		}
	}
}

func TestJSONMessages(t *testing.T) {
	body := jsonOf(t, &thrifttest.Leaf{ID: 1, Name: "a"})
	text := string(tjson.AppendMessage(nil, "echo\"", raw.Reply, -7, []byte(body)))
	if want := `[1,"echo\"",2,-7,{"1":{"i64":1},"2":{"str":"a"}}]`; text != want {
		t.Errorf("%s; want %s", text, want)
	}
	name, typ, seq, got, err := tjson.ParseMessage([]byte(text))
	if name != "echo\"" || typ != raw.Reply || seq != -7 || string(got) != body || err != nil {
		t.Errorf("%q %v %d %s %v", name, typ, seq, got, err)
	}
	for typ := raw.Call; typ <= raw.Oneway; typ++ {
		if _, got, _, _, err := tjson.ParseMessage(tjson.AppendMessage(nil, "a", typ, 1, []byte("{}"))); got != typ || err != nil {
			t.Errorf("%v became %v, %v", typ, got, err)
		}
	}
	for i := range text {
		var syntax *thrift.SyntaxError
		if _, _, _, _, err := tjson.ParseMessage([]byte(text[:i])); !errors.As(err, &syntax) || syntax.Why != "truncated" {
			t.Errorf("%s: %v", text[:i], err)
		}
	}
	for _, in := range []string{`{}`, `[2,"a",1,1,{}]`, `[1,"a",0,1,{}]`, `[1,"a",5,1,{}]`, `[1,1,1,1,{}]`, `[1,"a",1,1,{}] x`, `[1,"a",1,1,{},1]`} {
		if _, _, _, _, err := tjson.ParseMessage([]byte(in)); err == nil {
			t.Errorf("%s was taken", in)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range []string{ // small seeds mutate best
		`{"1":{"tf":1},"2":{"i8":-1},"6":{"dbl":"NaN"},"9":{"uid":"01000000-0000-0000-0000-000000000002"}}`,
		`{"8":{"str":"AQI="},"7":{"str":"\u00fc\n\ud83d\udc26"},"20":{"tf":0},"28":{"uid":""}}`,
		`{"40":{"lst":["tf",2,1,0]},"46":{"lst":["str",1,"a"]},"52":{"lst":["lst",1,["i64",1,7]]}}`,
		`{"63":{"set":["set",1,["i32",1,5]]},"64":{"map":["rec","str",1,{{"1":{"i64":1}}:"x"}]}}`,
		`{"80":{"map":["str","str",1,{"a":"b"}]},"102":{"map":["dbl","str",2,{"1.5":"","Infinity":"x"}]},"104":{"map":["tf","str",1,{"1":""}]}}`,
		`{"1":{"lst":["rec",2,{},{"1":{"i64":1}}]},"4":{"map":["str","rec",1,{"":{}}]},"7":{"lst":["rec",1,{"1":{"i64":2}}]}}`,
		` { "1" : { "i32" : "80" } , "99" : { "rec" : { "1" : [ null , true , { "a" : 1 } ] } } } `,
	} {
		f.Add(text)
	}
	f.Add(jsonOf(f, &thrifttest.Tree{Children: []*thrifttest.Tree{{Value: 1}}, Either: &thrifttest.EitherList{List: []thrifttest.Either{&thrifttest.EitherText{Text: "x"}}}}))
	f.Add(`[1,"a",1,1,{"1":{"str":"\ud83d\udc26"}}]`)
	lim := rpc.Limits{}.WithDefaults()
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, _, body, err := tjson.ParseMessage([]byte(text)); err == nil {
			text = string(body)
		}
		for _, fresh := range []func() any{func() any { return new(thrifttest.Everything) }, func() any { return new(thrifttest.Tree) }, func() any { return new(thrifttest.Bomb) }, func() any { return new(thrifttest.Defaults) }} {
			msg := fresh()
			err := thrift.JSON{}.Decode(buf.ViewOf([]byte(text)), msg, lim)
			if err != nil {
				var syntax *thrift.SyntaxError
				if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset < 0 || syntax.Offset > len(text) {
					t.Fatalf("%T: %v", msg, err)
				}
				continue
			}
			var out buf.Out
			if err := (thrift.JSON{}).Append(&out, msg); err != nil {
				var typ *thrift.TypeError
				if !errors.As(err, &typ) || typ.Why != "is nil" {
					t.Fatalf("%T: %v", msg, err)
				}
				out.Reset()
				continue
			}
			again, first := fresh(), out.Bytes()
			out.Reset()
			if err := (thrift.JSON{}).Decode(buf.ViewOf(first), again, rpc.Limits{DecodeFactor: 1000}.WithDefaults()); err != nil {
				t.Fatalf("%T: decoded, encoded as %s, and not decoded again: %v", msg, first, err)
			}
			if err := (thrift.JSON{}).Append(&out, again); err != nil || out.Len() != len(first) {
				t.Fatalf("%T: %d bytes became %d, %v", msg, len(first), out.Len(), err)
			}
			out.Reset()
		}
	})
}
