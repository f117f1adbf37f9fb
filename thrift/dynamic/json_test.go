package dynamic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// Where in the text a fault is, in bytes.
func TestOffsetsInJSON(t *testing.T) {
	c := structCodec(t, "Everything")
	for _, tt := range []struct {
		in  string
		at  int
		why string
	}{
		{`{"s" "x"}`, 5, "a colon"},
		{`{"s":"x" "b":true}`, 9, "a comma"},
		{`{"s":"x",}`, 9, "a name in quotes"},
		{`{s:1}`, 1, "a name in quotes"},
		{`{"ints":[1,]}`, 11, "a value"},
		{`{"ints":[,1]}`, 9, "a value"},
		{`{"ints":[1 2]}`, 11, "a comma"},
		{`{"ints":[1}`, 10, "a comma"},
		{`{"ints":[01]}`, 10, "a comma"},
		{`{"ints":[-]}`, 10, "a digit"},
		{`{"ints":[1.]}`, 11, "a digit"},
		{`{"ints":[1e+]}`, 12, "a digit"},
		{`{"ints":[+1]}`, 9, "a value"},
		{`{"b":tru}`, 8, "true"},
		{`{"b":nul}`, 8, "null"},
		{`{"b":False}`, 5, "a value"},
		{"{\"s\":\"a\nb\"}", 7, "escaped"},
		{`{"s":"a\qb"}`, 8, "an escape"},
		{`{"s":"a\u12x4"}`, 11, "a hexadecimal digit"},
		{`{"s":"a\ud800\u12x4"}`, 17, "a hexadecimal digit"},
		{`{"s":"a`, 7, "too early"},
		{`{"s":"a\`, 8, "too early"},
		{`{"s":"a\u00`, 11, "too early"},
		{`{"s":"\ud800\u0`, 15, "too early"},
		{`{"s":`, 5, "too early"},
		{`{"s"`, 4, "too early"},
		{`{`, 1, "too early"},
		{`{} {}`, 3, "more after the end"},
		{"\v", 0, "a value"},
		{`{"leaf":{"id":1,"nme":2}}`, 16, "no field"},
		{`{"leaf":  7}`, 10, "not the number 7"},
		{`{"either":{}}`, 10, "one member"},
		{`{"i8": 128}`, 7, "out of range"},
		{`{"s":"a","s":"b"}`, 9, "twice"},
		{`{"msi":{"a":1,"b":"x"}}`, 18, "is an integer"},
		{`{"mis":{"é\n":"x"}}`, 8, "is an integer"},
	} {
		var out buf.Out
		out.AppendString("before")
		err := c.Append(&out, &dynamic.Message{JSON: []byte(tt.in)})
		var bad *dynamic.Error
		if !errors.As(err, &bad) || bad.Offset != tt.at || !strings.Contains(bad.Why, tt.why) {
			t.Errorf("%s: %v at %d; want %s at %d", tt.in, err, bad.Offset, tt.why, tt.at)
		}
		if string(out.Bytes()) != "before" {
			t.Errorf("%s: %q is left", tt.in, out.Bytes())
		}
		out.Reset()
	}
}

// Strings mean what they mean to encoding/json.
func TestStringsOfJSON(t *testing.T) {
	c := structCodec(t, "Leaf")
	for _, s := range []string{
		`""`, `"plain"`, `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u20ac"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00x"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u0041"`,
		`"\uD83D\uDE00\uFFFF"`, `"é€😀"`, "\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "\"\x7f\"", `"\u0000"`, `"a\\\"b é"`, "\"" + strings.Repeat("é", 10_000) + "\"",
	} {
		var want string
		if err := json.Unmarshal([]byte(s), &want); err != nil {
			t.Fatal(err)
		}
		var got Leaf
		if err := (thrift.Binary{}).Decode(buf.ViewOf(toThrift(t, c, &dynamic.Message{JSON: []byte(`{"name":` + s + `}`)})), &got, nil); err != nil || got.Name != want {
			t.Errorf("%.40s: %.40q, want %.40q, %v", s, got.Name, want, err)
		}
	}
}

// Messages that fill many blocks, with numbers of elements far before their end.
func TestJSONOverManyBlocks(t *testing.T) {
	c := structCodec(t, "Everything")
	want := &Everything{S: strings.Repeat("long ", 20_000), Raw: bytes.Repeat([]byte{1, 2}, 30_000), Ints: []int32{}, Names: thrift.Set[string]{},
		Nested: [][]Color{}, MSI: map[string]int32{}, MIS: map[int64]string{}, MCL: map[Color]*Leaf{}, MBB: map[bool]bool{}, MD8: map[float64]int8{}, MUS: map[thrift.UUID]string{}}
	for i := range 20_000 {
		want.Ints = append(want.Ints, int32(i*i))
		want.Leaves = append(want.Leaves, &Leaf{int64(i), strings.Repeat("n", i%50)})
		want.Nested = append(want.Nested, make([]Color, i%5))
		want.MSI[fmt.Sprint("key", i)] = int32(i)
	}
	text := toJSON(t, c, toThrift(t, thrift.Binary{}, want))
	var out buf.Out
	defer out.Reset()
	out.AppendString("before")
	if err := c.Append(&out, &dynamic.Message{JSON: []byte(text)}); err != nil {
		t.Fatal(err)
	}
	got := new(Everything)
	if err := (thrift.Binary{}).Decode(buf.ViewOf(out.Bytes()[len("before"):]), got, nil); err != nil || !thrift.Equal(got, want) {
		t.Errorf("%v", err)
	}
	// The bound holds over blocks, to the byte.
	n := out.Len() - len("before")
	small := *c
	small.MaxBytes = n
	if _, err := appendTo(&small, &dynamic.Message{JSON: []byte(text)}); err != nil {
		t.Errorf("exactly %d bytes: %v", n, err)
	}
	small.MaxBytes = n - 1
	if _, err := appendTo(&small, &dynamic.Message{JSON: []byte(text)}); err == nil {
		t.Errorf("one byte more than allowed")
	}
}

func TestDynamicAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("skipped: debugging builds record every block")
	}
	c := structCodec(t, "Everything")
	lim := rpc.Limits{}.WithDefaults()
	for name, most := range map[string][2]float64{"small": {7, 7}, "medium": {18, 8}} {
		text := []byte(benchTexts()[name])
		var out buf.Out
		out.AppendString("held")
		m, msg := out.Mark(), &dynamic.Message{JSON: text}
		n := testing.AllocsPerRun(100, func() {
			if err := c.Append(&out, msg); err != nil {
				t.Fatal(err)
			}
			out.Truncate(m)
		})
		if n > most[0] {
			t.Errorf("%s: %v allocations to Thrift, not %v", name, n, most[0])
		}
		body := buf.ViewOf(toThrift(t, c, msg))
		n = testing.AllocsPerRun(100, func() {
			if err := c.Decode(body, new(dynamic.Message), lim); err != nil {
				t.Fatal(err)
			}
		})
		if n > most[1] {
			t.Errorf("%s: %v allocations to JSON, not %v", name, n, most[1])
		}
		out.Reset()
	}
}
