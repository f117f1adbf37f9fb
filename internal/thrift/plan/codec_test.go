package plan_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func TestRandomRoundTrips(t *testing.T) {
	for seed := range uint64(400) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 0))}
		want := new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(want).Elem(), true, false)
		body := thrifttest.Encode(t, want)
		if n, err := raw.SkipStruct(body, 64); n != len(body) || err != nil {
			t.Fatalf("seed %d: skip: %d of %d, %v", seed, n, len(body), err)
		}
		got := new(thrifttest.Everything)
		if err := thrifttest.Decode(body, got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			for i := range reflect.TypeOf(*got).NumField() {
				if a, b := reflect.ValueOf(*got).Field(i), reflect.ValueOf(*want).Field(i); reflect.TypeOf(*got).Field(i).IsExported() && !reflect.DeepEqual(a.Interface(), b.Interface()) {
					t.Fatalf("seed %d: %s: %.200v; want %.200v", seed, reflect.TypeOf(*got).Field(i).Name, a, b)
				}
			}
		}
	}
}

// TestBytes holds each kind against bytes that were written by hand from the
// specification.
func TestBytes(t *testing.T) {
	type M = map[string]int32
	for _, tt := range []struct {
		name string
		msg  any
		hex  string
	}{
		{"bool", &struct {
			A bool `thrift:"a,1"`
			B bool `thrift:"b,2"`
		}{true, false}, "02000101 02000200 00"},
		{"i8", &struct {
			A int8 `thrift:"a,1"`
		}{-2}, "030001fe 00"},
		{"i16", &struct {
			A int16 `thrift:"a,1"`
		}{-2}, "060001fffe 00"},
		{"i32", &struct {
			A int32 `thrift:"a,-1"`
		}{0x01020304}, "08ffff01020304 00"},
		{"enum", &struct {
			A thrifttest.Color `thrift:"a,32767"`
		}{3}, "087fff00000003 00"},
		{"i64", &struct {
			A int64 `thrift:"a,0"`
		}{0x0102030405060708}, "0a00000102030405060708 00"},
		{"double", &struct {
			A float64 `thrift:"a,1"`
		}{1}, "0400013ff0000000000000 00"},
		{"string", &struct {
			A string `thrift:"a,1"`
		}{"abc"}, "0b000100000003616263 00"},
		{"binary", &struct {
			A []byte `thrift:"a,1"`
			B []byte `thrift:"b,2"`
			C []byte `thrift:"c,3,optional"`
		}{[]byte{1, 2}, nil, nil}, "0b0001000000020102 0b000200000000 00"},
		{"uuid", &struct {
			A thrift.UUID `thrift:"a,1"`
		}{thrift.UUID{0, 0x11, 15: 0xff}}, "10000100110000000000000000000000 0000ff 00"},
		{"struct", &struct {
			A *thrifttest.Leaf `thrift:"a,1"`
			B *thrifttest.Leaf `thrift:"b,2"`
		}{&thrifttest.Leaf{ID: 1}, nil}, "0c0001 0a00010000000000000001 0b000200000000 00 00"},
		{"list", &struct {
			A []int32 `thrift:"a,1"`
			B []bool  `thrift:"b,2"`
			C []int8  `thrift:"c,3,optional"`
		}{[]int32{1, 2}, nil, nil}, "0f0001 08 00000002 00000001 00000002 0f0002 02 00000000 00"},
		{"set", &struct {
			A thrift.Set[string] `thrift:"a,1"`
		}{thrift.Set[string]{"x"}}, "0e0001 0b 00000001 0000000178 00"},
		{"map", &struct {
			A M `thrift:"a,1"`
			B M `thrift:"b,2"`
			C M `thrift:"c,3,optional"`
		}{M{"x": 5}, nil, nil}, "0d0001 0b08 00000001 00000001 78 00000005 0d0002 0b08 00000000 00"},
		{"pairs", &struct {
			A thrift.Pairs[[]int8, bool] `thrift:"a,1"`
		}{thrift.Pairs[[]int8, bool]{{Key: []int8{1}, Value: true}}}, "0d0001 0f02 00000001 03 00000001 01 01 00"},
		{"union", &struct {
			A thrifttest.Either   `thrift:"a,1"`
			B []thrifttest.Either `thrift:"b,2"`
		}{&thrifttest.EitherText{Text: "x"}, []thrifttest.Either{&thrifttest.EitherNumber{Number: 2}}}, "0c0001 0b0002 00000001 78 00 0f0002 0c 00000001 0a0001 0000000000000002 00 00"},
		{"pointers", &struct {
			A *bool             `thrift:"a,1,optional"`
			B *int8             `thrift:"b,2,optional"`
			C *int16            `thrift:"c,3,optional"`
			D *thrifttest.Color `thrift:"d,4,optional"`
			E *int64            `thrift:"e,5,optional"`
			F *float64          `thrift:"f,6,optional"`
			G *string           `thrift:"g,7,optional"`
			H *thrift.UUID      `thrift:"h,8,optional"`
			I *int64            `thrift:"i,9,optional"`
		}{A: new(true), B: new(int8(1)), C: new(int16(1)), D: new(thrifttest.Color(1)), E: new(int64(1)), F: new(2.0), G: new(""), H: &thrift.UUID{1}},
			"02000101 03000201 0600030001 08000400000001 0a00050000000000000001 0400064000000000000000 0b000700000000 100008 01000000000000000000000000000000 00"},
		{"nothing", &struct{}{}, "00"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if got := thrifttest.Encode(t, tt.msg); !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as %x; want %x", tt.name, got, want)
			continue
		}
		fresh := reflect.New(reflect.TypeOf(tt.msg).Elem())
		if err := thrifttest.Decode(want, fresh.Interface()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again := thrifttest.Encode(t, fresh.Interface()); !bytes.Equal(again, want) {
			t.Errorf("%s: decoded and encoded as %x; want %x", tt.name, again, want)
		}
	}
}

func TestEveryPrefixIsTruncated(t *testing.T) {
	r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(5, 0))}
	msg := new(thrifttest.Everything)
	r.Fill(reflect.ValueOf(msg).Elem(), true, false)
	body := thrifttest.Encode(t, msg)
	for i := range min(len(body), 20_000) {
		var syntax *thrift.SyntaxError
		err := thrifttest.Decode(body[:i:i], new(thrifttest.Everything))
		if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset > i {
			t.Fatalf("prefix of %d of %d: %v", i, len(body), err)
		}
	}
	if err := thrifttest.Decode(append(body, 0), new(thrifttest.Everything)); err == nil || !strings.Contains(err.Error(), "bytes after the end") {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestRequired(t *testing.T) {
	full := &thrifttest.Strict{A: 1, B: "b", C: &thrifttest.Leaf{}, D: nil}
	body := thrifttest.Encode(t, full)
	if err := thrifttest.Decode(body, new(thrifttest.Strict)); err != nil {
		t.Fatal(err)
	}
	if err := (thrift.Binary{}).Append(new(buf.Out), &thrifttest.Strict{}); rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "Strict.C: is required and nil") {
		t.Errorf("nil required struct: %v", err)
	}
	for _, tt := range []struct{ hex, field string }{
		{"00", "Strict.a"},
		{"0800010000000100", "Strict.b"},
		{"0b000200000000 0c0003000b000400000000 00", "Strict.a"},
		{"08000100000001 0b000200000000 0c000300 00", "Strict.d"},
		{"06000100010b000200000000 0c0003000b000400000000 00", "Strict.a"}, // of another type
	} {
		p, _ := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		var syntax *thrift.SyntaxError
		err := thrifttest.Decode(p, new(thrifttest.Strict))
		if !errors.As(err, &syntax) || syntax.Path != tt.field || syntax.Why != "required field is missing" || syntax.Offset != len(p)-1 {
			t.Errorf("%s: %v; want %s", tt.hex, err, tt.field)
		}
	}
}

// TestRequiredListOfAnotherType: it is skipped, and therefore missing.
func TestRequiredListOfAnotherType(t *testing.T) {
	m := new(struct {
		A []int32 `thrift:"a,1,required"`
	})
	err := thrifttest.Decode([]byte{15, 0, 1, 11, 0, 0, 0, 1, 0, 0, 0, 0, 0}, m)
	if err == nil || !strings.Contains(err.Error(), "required field is missing") {
		t.Errorf("%v, %v", m, err)
	}
}

// TestManyRequired has more required fields than a word has bits.
func TestManyRequired(t *testing.T) {
	var fields []reflect.StructField
	for i := range 100 {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int8](),
			Tag: reflect.StructTag(fmt.Sprintf(`thrift:"f%d,%d,required"`, i, i+1)),
		})
	}
	rt := reflect.StructOf(fields)
	body := thrifttest.Encode(t, reflect.New(rt).Interface())
	if err := thrifttest.Decode(body, reflect.New(rt).Interface()); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		less := append(bytes.Clone(body[:4*i]), body[4*i+4:]...)
		if err := thrifttest.Decode(less, reflect.New(rt).Interface()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(".f%d ", i)) {
			t.Errorf("without F%d: %v", i, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := &thrifttest.Defaults{Port: 5}
	if err := thrifttest.Decode([]byte{0}, got); err != nil {
		t.Fatal(err)
	}
	if want := (&thrifttest.Defaults{Port: 80, Host: new("localhost"), List: []int32{1, 2}}); !reflect.DeepEqual(got, want) {
		t.Errorf("empty: %+v; want %+v", got, want)
	}
	holder := new(struct {
		A *thrifttest.Defaults            `thrift:"a,1"`
		B []*thrifttest.Defaults          `thrift:"b,2"`
		C map[string]*thrifttest.Defaults `thrift:"c,3"`
	})
	p, _ := hex.DecodeString("0c0001" + "0800010000000700" + "0f00020c00000002" + "0000" + "0d00030b0c00000001" + "0000000161" + "00" + "00")
	if err := thrifttest.Decode(p, holder); err != nil {
		t.Fatal(err)
	}
	if holder.A.Port != 7 || *holder.A.Host != "localhost" || holder.B[1].Port != 80 || holder.C["a"].Port != 80 {
		t.Errorf("%+v", holder)
	}
}

func TestUnknownAndWrongFieldsAreSkipped(t *testing.T) {
	everything := &thrifttest.Everything{
		Leaf: &thrifttest.Leaf{ID: 1, Name: "x"}, Either: &thrifttest.EitherText{Text: "y"}, Leaves: []*thrifttest.Leaf{{ID: 2, Name: "z"}}, MSS: map[string]string{"a": "b"}, I64Set: thrift.Set[int64]{1},
		LeafPairs: thrift.Pairs[*thrifttest.Leaf, string]{{Key: &thrifttest.Leaf{}, Value: "p"}}, UUIDs: []thrift.UUID{{}}, Lists: [][]int64{{1}, {}},
	}
	if err := thrifttest.Decode(thrifttest.Encode(t, everything), new(struct{})); err != nil {
		t.Errorf("all fields unknown: %v", err)
	}
	// Lists of lists and maps whose innermost elements have another type.
	type sent struct {
		A [][]int32                   `thrift:"a,1"`
		B map[string][]int32          `thrift:"b,2"`
		C []*thrifttest.Leaf          `thrift:"c,3"`
		D map[string]map[string]int32 `thrift:"d,4"`
		E thrift.Set[int64]           `thrift:"e,5"`
		F int64                       `thrift:"f,6"`
		G thrifttest.Either           `thrift:"g,7"`
	}
	type wanted struct {
		A [][]string                   `thrift:"a,1"`
		B map[string][]string          `thrift:"b,2"`
		C []string                     `thrift:"c,3"`
		D map[string]map[string]string `thrift:"d,4"`
		E []int64                      `thrift:"e,5"`
		F int64                        `thrift:"f,6"`
		G *thrifttest.Leaf             `thrift:"g,7"`
	}
	body := thrifttest.Encode(t, &sent{[][]int32{{}, {1}}, map[string][]int32{"a": {1}}, []*thrifttest.Leaf{{}}, map[string]map[string]int32{"a": {"b": 1}}, thrift.Set[int64]{1}, 9, &thrifttest.EitherNumber{Number: 5}})
	before := thrifttest.Unhex(t, "0f0003 0b 00000001 00000009 6173206265666f7265") // what comes later is of another type
	body = append(before, body...)
	got := &wanted{}
	if err := thrifttest.Decode(body, got); err != nil {
		t.Fatal(err)
	}
	if want := (&wanted{C: []string{"as before"}, F: 9, G: &thrifttest.Leaf{ID: 5}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
	// A union's unknown variant leaves nil; a known one with another type too.
	for _, p := range []string{"0c0001 0a0063 0000000000000001 00 00", "0c0001 0b0001 00000000 00 00", "0c0001 00 00"} {
		raw, _ := hex.DecodeString(strings.ReplaceAll(p, " ", ""))
		u := &struct {
			A thrifttest.Either `thrift:"a,1"`
		}{&thrifttest.EitherNumber{Number: 1}}
		if err := thrifttest.Decode(raw, u); err != nil || u.A != nil {
			t.Errorf("%s: %v, %v", p, u.A, err)
		}
	}
}

func TestLastOneCounts(t *testing.T) {
	type M struct {
		L []int32           `thrift:"l,1"`
		M map[string]int32  `thrift:"m,2"`
		S *thrifttest.Leaf  `thrift:"s,3"`
		U thrifttest.Either `thrift:"u,4"`
	}
	a := thrifttest.Encode(t, &M{[]int32{1, 2, 3}, map[string]int32{"a": 1}, &thrifttest.Leaf{ID: 1, Name: "a"}, &thrifttest.EitherText{Text: "a"}})
	b := thrifttest.Encode(t, &M{[]int32{4}, map[string]int32{"b": 2}, &thrifttest.Leaf{ID: 2}, &thrifttest.EitherNumber{Number: 3}})
	got := new(M)
	if err := thrifttest.Decode(append(a[:len(a)-1], b...), got); err != nil {
		t.Fatal(err)
	}
	if want := (&M{[]int32{4}, map[string]int32{"b": 2}, &thrifttest.Leaf{ID: 2}, &thrifttest.EitherNumber{Number: 3}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
}
