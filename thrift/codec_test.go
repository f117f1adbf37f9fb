package thrift_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A filler makes random values.
type filler struct {
	*rand.Rand
	depth int
}

// fill makes v a random value of what the codec can carry unchanged: whatever
// would be written as empty is not nil. nilAllowed: v is a field.
func (r *filler) fill(v reflect.Value, nilAllowed, optional bool) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(r.Uint64() &^ (1 << 62))) // never NaN
	case reflect.String:
		v.SetString(r.text())
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(r.Uint64() & 255)
		}
	case reflect.Pointer:
		if nilAllowed && (r.IntN(3) == 0 || r.depth > 5) {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem(), false, false)
	case reflect.Interface:
		if nilAllowed && r.IntN(3) == 0 {
			v.SetZero()
			return
		}
		x := reflect.New(r.variant(v.Type()))
		r.depth++
		for i := range x.Elem().NumField() {
			r.fill(x.Elem().Field(i), false, false)
		}
		r.depth--
		v.Set(x)
	case reflect.Slice:
		if optional && r.IntN(3) == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), r.size(), 100))
		r.depth++
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Uint8 {
				v.Index(i).SetUint(r.Uint64() & 255)
			} else {
				r.fill(v.Index(i), false, false)
			}
		}
		r.depth--
	case reflect.Map:
		if optional && r.IntN(3) == 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		r.depth++
		for range r.size() {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.fill(k, false, false)
			r.fill(e, false, false)
			v.SetMapIndex(k, e)
		}
		r.depth--
	case reflect.Struct:
		r.depth++
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag.Get("thrift")
			if f := v.Type().Field(i); !f.IsExported() || tag == "" && v.Type().Name() != "" && !strings.HasPrefix(v.Type().Name(), "Pair") {
				continue
			}
			r.fill(v.Field(i), tag != "", strings.HasSuffix(tag, ",optional"))
		}
		r.depth--
	default:
		panic("no filler for " + v.Type().String())
	}
}

// variant picks a variant of a union, one that ends when it is deep already.
func (r *filler) variant(union reflect.Type) reflect.Type {
	m := union.Method(0).Type
	for {
		v := m.In(r.IntN(m.NumIn())).Elem()
		if k := v.Field(0).Type.Kind(); r.depth <= 5 || k != reflect.Pointer && k != reflect.Slice {
			return v
		}
	}
}

func (r *filler) size() int {
	if r.depth > 5 {
		return 0
	}
	return r.IntN(9>>(r.depth/2) + 1)
}

func (r *filler) text() string {
	n := r.IntN(20)
	switch r.IntN(400) {
	case 0:
		n = r.IntN(30_000)
	case 1, 2:
		n = 1000 + r.IntN(100)
	}
	return strings.Repeat(string(rune('a'+r.IntN(26))), n)
}

func encode(t testing.TB, msg any) []byte {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := (thrift.Binary{}).Append(&out, msg); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decode(body []byte, msg any) error {
	return thrift.Binary{}.Decode(buf.ViewOf(body), msg, rpc.Limits{}.WithDefaults())
}

func TestRandomRoundTrips(t *testing.T) {
	for seed := range uint64(400) {
		r := &filler{Rand: rand.New(rand.NewPCG(seed, 0))}
		want := new(Everything)
		r.fill(reflect.ValueOf(want).Elem(), true, false)
		body := encode(t, want)
		if n, err := raw.SkipStruct(body, 64); n != len(body) || err != nil {
			t.Fatalf("seed %d: skip: %d of %d, %v", seed, n, len(body), err)
		}
		got := new(Everything)
		if err := decode(body, got); err != nil {
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
			A Color `thrift:"a,32767"`
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
			A *Leaf `thrift:"a,1"`
			B *Leaf `thrift:"b,2"`
		}{&Leaf{ID: 1}, nil}, "0c0001 0a00010000000000000001 0b000200000000 00 00"},
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
		}{thrift.Pairs[[]int8, bool]{{[]int8{1}, true}}}, "0d0001 0f02 00000001 03 00000001 01 01 00"},
		{"union", &struct {
			A Either   `thrift:"a,1"`
			B []Either `thrift:"b,2"`
		}{&EitherText{"x"}, []Either{&EitherNumber{2}}}, "0c0001 0b0002 00000001 78 00 0f0002 0c 00000001 0a0001 0000000000000002 00 00"},
		{"pointers", &struct {
			A *bool        `thrift:"a,1,optional"`
			B *int8        `thrift:"b,2,optional"`
			C *int16       `thrift:"c,3,optional"`
			D *Color       `thrift:"d,4,optional"`
			E *int64       `thrift:"e,5,optional"`
			F *float64     `thrift:"f,6,optional"`
			G *string      `thrift:"g,7,optional"`
			H *thrift.UUID `thrift:"h,8,optional"`
			I *int64       `thrift:"i,9,optional"`
		}{A: new(true), B: new(int8(1)), C: new(int16(1)), D: new(Color(1)), E: new(int64(1)), F: new(2.0), G: new(""), H: &thrift.UUID{1}},
			"02000101 03000201 0600030001 08000400000001 0a00050000000000000001 0400064000000000000000 0b000700000000 100008 01000000000000000000000000000000 00"},
		{"nothing", &struct{}{}, "00"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if got := encode(t, tt.msg); !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as %x; want %x", tt.name, got, want)
			continue
		}
		fresh := reflect.New(reflect.TypeOf(tt.msg).Elem())
		if err := decode(want, fresh.Interface()); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again := encode(t, fresh.Interface()); !bytes.Equal(again, want) {
			t.Errorf("%s: decoded and encoded as %x; want %x", tt.name, again, want)
		}
	}
}

func TestEveryPrefixIsTruncated(t *testing.T) {
	r := &filler{Rand: rand.New(rand.NewPCG(5, 0))}
	msg := new(Everything)
	r.fill(reflect.ValueOf(msg).Elem(), true, false)
	body := encode(t, msg)
	for i := range min(len(body), 20_000) {
		var syntax *thrift.SyntaxError
		err := decode(body[:i:i], new(Everything))
		if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset > i {
			t.Fatalf("prefix of %d of %d: %v", i, len(body), err)
		}
	}
	if err := decode(append(body, 0), new(Everything)); err == nil || !strings.Contains(err.Error(), "bytes after the end") {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestRequired(t *testing.T) {
	full := &Strict{1, "b", &Leaf{}, nil}
	body := encode(t, full)
	if err := decode(body, new(Strict)); err != nil {
		t.Fatal(err)
	}
	if err := (thrift.Binary{}).Append(new(buf.Out), &Strict{}); rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "Strict.C: is required and nil") {
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
		err := decode(p, new(Strict))
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
	err := decode([]byte{15, 0, 1, 11, 0, 0, 0, 1, 0, 0, 0, 0, 0}, m)
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
	body := encode(t, reflect.New(rt).Interface())
	if err := decode(body, reflect.New(rt).Interface()); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		less := append(bytes.Clone(body[:4*i]), body[4*i+4:]...)
		if err := decode(less, reflect.New(rt).Interface()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(".f%d ", i)) {
			t.Errorf("without F%d: %v", i, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := &Defaults{Port: 5}
	if err := decode([]byte{0}, got); err != nil {
		t.Fatal(err)
	}
	if want := (&Defaults{Port: 80, Host: new("localhost"), List: []int32{1, 2}}); !reflect.DeepEqual(got, want) {
		t.Errorf("empty: %+v; want %+v", got, want)
	}
	holder := new(struct {
		A *Defaults            `thrift:"a,1"`
		B []*Defaults          `thrift:"b,2"`
		C map[string]*Defaults `thrift:"c,3"`
	})
	p, _ := hex.DecodeString("0c0001" + "0800010000000700" + "0f00020c00000002" + "0000" + "0d00030b0c00000001" + "0000000161" + "00" + "00")
	if err := decode(p, holder); err != nil {
		t.Fatal(err)
	}
	if holder.A.Port != 7 || *holder.A.Host != "localhost" || holder.B[1].Port != 80 || holder.C["a"].Port != 80 {
		t.Errorf("%+v", holder)
	}
}

func TestUnknownAndWrongFieldsAreSkipped(t *testing.T) {
	everything := &Everything{
		Leaf: &Leaf{1, "x"}, Either: &EitherText{"y"}, Leaves: []*Leaf{{2, "z"}}, MSS: map[string]string{"a": "b"}, I64Set: thrift.Set[int64]{1},
		LeafPairs: thrift.Pairs[*Leaf, string]{{&Leaf{}, "p"}}, UUIDs: []thrift.UUID{{}}, Lists: [][]int64{{1}, {}},
	}
	if err := decode(encode(t, everything), new(struct{})); err != nil {
		t.Errorf("all fields unknown: %v", err)
	}
	// Lists of lists and maps whose innermost elements have another type.
	type sent struct {
		A [][]int32                   `thrift:"a,1"`
		B map[string][]int32          `thrift:"b,2"`
		C []*Leaf                     `thrift:"c,3"`
		D map[string]map[string]int32 `thrift:"d,4"`
		E thrift.Set[int64]           `thrift:"e,5"`
		F int64                       `thrift:"f,6"`
		G Either                      `thrift:"g,7"`
	}
	type wanted struct {
		A [][]string                   `thrift:"a,1"`
		B map[string][]string          `thrift:"b,2"`
		C []string                     `thrift:"c,3"`
		D map[string]map[string]string `thrift:"d,4"`
		E []int64                      `thrift:"e,5"`
		F int64                        `thrift:"f,6"`
		G *Leaf                        `thrift:"g,7"`
	}
	body := encode(t, &sent{[][]int32{{}, {1}}, map[string][]int32{"a": {1}}, []*Leaf{{}}, map[string]map[string]int32{"a": {"b": 1}}, thrift.Set[int64]{1}, 9, &EitherNumber{5}})
	before := unhex(t, "0f0003 0b 00000001 00000009 6173206265666f7265") // what comes later is of another type
	body = append(before, body...)
	got := &wanted{}
	if err := decode(body, got); err != nil {
		t.Fatal(err)
	}
	if want := (&wanted{C: []string{"as before"}, F: 9, G: &Leaf{ID: 5}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
	// A union's unknown variant leaves nil; a known one with another type too.
	for _, p := range []string{"0c0001 0a0063 0000000000000001 00 00", "0c0001 0b0001 00000000 00 00", "0c0001 00 00"} {
		raw, _ := hex.DecodeString(strings.ReplaceAll(p, " ", ""))
		u := &struct {
			A Either `thrift:"a,1"`
		}{&EitherNumber{1}}
		if err := decode(raw, u); err != nil || u.A != nil {
			t.Errorf("%s: %v, %v", p, u.A, err)
		}
	}
}

func TestLastOneCounts(t *testing.T) {
	type M struct {
		L []int32          `thrift:"l,1"`
		M map[string]int32 `thrift:"m,2"`
		S *Leaf            `thrift:"s,3"`
		U Either           `thrift:"u,4"`
	}
	a := encode(t, &M{[]int32{1, 2, 3}, map[string]int32{"a": 1}, &Leaf{1, "a"}, &EitherText{"a"}})
	b := encode(t, &M{[]int32{4}, map[string]int32{"b": 2}, &Leaf{ID: 2}, &EitherNumber{3}})
	got := new(M)
	if err := decode(append(a[:len(a)-1], b...), got); err != nil {
		t.Fatal(err)
	}
	if want := (&M{[]int32{4}, map[string]int32{"b": 2}, &Leaf{ID: 2}, &EitherNumber{3}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
}
