package thrifttest

import (
	"encoding/hex"
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

// A Filler makes random values.
type Filler struct {
	*rand.Rand
	Depth int
}

// Encode encodes msg in the Binary protocol.
func Encode(t testing.TB, msg any) []byte {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := (thrift.Binary{}).Append(&out, msg); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Decode decodes what Encode made.
func Decode(body []byte, msg any) error {
	return thrift.Binary{}.Decode(buf.ViewOf(body), msg, rpc.Limits{}.WithDefaults())
}

// Unhex reads hexadecimal digits, with spaces among them.
func Unhex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Random fills an Everything.
func Random(seed, stream uint64) (*Filler, *Everything) {
	r := &Filler{Rand: rand.New(rand.NewPCG(seed, stream))}
	m := new(Everything)
	r.Fill(reflect.ValueOf(m).Elem(), true, false)
	return r, m
}

// Normal is a message after it went over the wire.
func Normal(t testing.TB, m *Everything) *Everything {
	t.Helper()
	got := new(Everything)
	if err := Decode(Encode(t, m), got); err != nil {
		t.Fatal(err)
	}
	return got
}

// Shuffle puts all sets and Pairs below v into another order.
func Shuffle(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			Shuffle(r, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				Shuffle(r, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			Shuffle(r, v.Index(i))
		}
		if name := v.Type().Name(); strings.HasPrefix(name, "Set[") || strings.HasPrefix(name, "Pairs[") {
			r.Shuffle(v.Len(), reflect.Swapper(v.Interface()))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			Shuffle(r, it.Value())
		}
	}
}

// Ring makes values that refer to themselves, along one way or along many.
func Ring(n int, name string) *Tree {
	first := &Tree{Value: 1}
	last := first
	for range n - 1 {
		last.Next = &Tree{Value: 1}
		last = last.Next
	}
	last.Next = first
	last.Children = []*Tree{first, last, first}
	last.Named = map[string]*Tree{name: last}
	return first
}

// Compact encodes msg in the Compact protocol.
func Compact(t testing.TB, msg any) []byte {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := (thrift.Compact{}).Append(&out, msg); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// DecodeCompact decodes what Compact made.
func DecodeCompact(body []byte, msg any) error {
	return thrift.Compact{}.Decode(buf.ViewOf(body), msg, rpc.Limits{}.WithDefaults())
}

// Generous are limits that no test message meets.
func Generous() *rpc.Limits { return rpc.Limits{DecodeFactor: 1 << 12}.WithDefaults() }

// AppendWith encodes msg with any codec.
func AppendWith(c rpc.Codec, msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	err := c.Append(&out, msg)
	return out.Bytes(), err
}

// Fill makes v a random value of what the codec can carry unchanged: whatever
// would be written as empty is not nil. nilAllowed: v is a field.
//
// It has a case for each kind of Go type.
func (r *Filler) Fill(v reflect.Value, nilAllowed, optional bool) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(r.Uint64() &^ (1 << 62))) // never NaN
	case reflect.String:
		v.SetString(r.Text())
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(r.Uint64() & 255)
		}
	case reflect.Pointer:
		if nilAllowed && (r.IntN(3) == 0 || r.Depth > 5) {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		r.Fill(v.Elem(), false, false)
	case reflect.Interface:
		if nilAllowed && r.IntN(3) == 0 {
			v.SetZero()
			return
		}
		x := reflect.New(r.variant(v.Type()))
		r.Depth++
		for i := range x.Elem().NumField() {
			r.Fill(x.Elem().Field(i), false, false)
		}
		r.Depth--
		v.Set(x)
	case reflect.Slice:
		if optional && r.IntN(3) == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), r.size(), 100))
		r.Depth++
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Uint8 {
				v.Index(i).SetUint(r.Uint64() & 255)
			} else {
				r.Fill(v.Index(i), false, false)
			}
		}
		r.Depth--
	case reflect.Map:
		if optional && r.IntN(3) == 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		r.Depth++
		for range r.size() {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.Fill(k, false, false)
			r.Fill(e, false, false)
			v.SetMapIndex(k, e)
		}
		r.Depth--
	case reflect.Struct:
		r.Depth++
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag.Get("thrift")
			if f := v.Type().Field(i); !f.IsExported() || tag == "" && v.Type().Name() != "" && !strings.HasPrefix(v.Type().Name(), "Pair") {
				continue
			}
			r.Fill(v.Field(i), tag != "", strings.HasSuffix(tag, ",optional"))
		}
		r.Depth--
	default:
		panic("no filler for " + v.Type().String())
	}
}

// variant picks a variant of a union, one that ends when it is deep already.
func (r *Filler) variant(union reflect.Type) reflect.Type {
	m := union.Method(0).Type
	for {
		v := m.In(r.IntN(m.NumIn())).Elem()
		if k := v.Field(0).Type.Kind(); r.Depth <= 5 || k != reflect.Pointer && k != reflect.Slice {
			return v
		}
	}
}

func (r *Filler) size() int {
	if r.Depth > 5 {
		return 0
	}
	return r.IntN(9>>(r.Depth/2) + 1)
}

// Text makes a random string.
func (r *Filler) Text() string {
	n := r.IntN(20)
	switch r.IntN(400) {
	case 0:
		n = r.IntN(30_000)
	case 1, 2:
		n = 1000 + r.IntN(100)
	}
	return strings.Repeat(string(rune('a'+r.IntN(26))), n)
}

// Change sets some fields of a view and of the plain struct alike, deep inside
// as well.
func (r *Filler) Change(t testing.TB, view, plain reflect.Value) {
	for range 1 + r.IntN(4) {
		i := r.IntN(plain.Elem().NumField())
		f, field := plain.Type().Elem().Field(i), plain.Elem().Field(i)
		if r.IntN(2) == 0 {
			got := Accessor(view, plain, i, false).Call(nil)[0]
			name := got.Type().String()
			if strings.HasPrefix(name, "*lazy.Lazy") && !got.IsNil() {
				r.Change(t, got, field)
				continue
			}
			if strings.HasPrefix(name, "lazy.Structs[") && field.Len() > 0 {
				k := r.IntN(field.Len())
				r.Change(t, got.MethodByName("At").Call([]reflect.Value{reflect.ValueOf(k)})[0], field.Index(k))
				continue
			}
		}
		v := reflect.New(f.Type).Elem()
		r.Fill(v, true, strings.HasSuffix(f.Tag.Get("thrift"), ",optional"))
		Accessor(view, plain, i, true).Call([]reflect.Value{v})
		field.Set(arrived(t, plain.Type().Elem(), i, v))
	}
}

// Mixed makes a message of the fields of body, some left out, some twice, in
// another order, with unknown ones and with some of another type.
func (r *Filler) Mixed(t testing.TB, body []byte) []byte {
	var fields [][]byte
	for o := 0; body[o] != 0; {
		n, err := raw.Skip(body[o+3:], raw.Type(body[o]), 64)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, body[o:o+3+n])
		o += 3 + n
	}
	var out []byte
	for range r.IntN(2 * len(fields)) {
		f := fields[r.IntN(len(fields))]
		switch r.IntN(12) {
		case 0: // unknown
			out = append(append(out, f[0], 0x40, byte(r.IntN(256))), f[3:]...)
		case 1: // somebody else's type
			g := fields[r.IntN(len(fields))]
			out = append(append(out, g[0], f[1], f[2]), g[3:]...)
		default:
			out = append(out, f...)
		}
	}
	return append(out, 0)
}

// Paths are such as masks have, of the names that a struct has.
func (r *Filler) Paths(st reflect.Type) string {
	var paths []string
	for range r.IntN(6) {
		var path []string
		at := st
		for at != nil {
			f := at.Field(r.IntN(at.NumField()))
			name, _, _ := strings.Cut(f.Tag.Get("thrift"), ",")
			path = append(path, name)
			t := f.Type
			for t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if at = nil; t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Tag.Get("thrift") != "" && r.IntN(4) > 0 {
				at = t
			}
		}
		paths = append(paths, strings.Join(path, "."))
	}
	return strings.Join(paths, ",")
}

// Twice gives body with an unknown field, and one of its fields a second time
// before it.
func (r *Filler) Twice(t testing.TB, body []byte) []byte {
	n, err := raw.Skip(body[3:], raw.Type(body[0]), 64)
	if err != nil {
		t.Fatal(err)
	}
	out := append([]byte{11, 0x40, 1, 0, 0, 0, 8}, "unknown!"...)
	return append(append(out, body[:3+n]...), body...)
}

// Accessor finds the getter or setter of a view for field i of its struct.
// Names that are taken get underscores, getters first.
func Accessor(view, plain reflect.Value, i int, set bool) reflect.Value {
	taken, names := map[string]bool{"Lazy": true, "Plain": true, "Release": true}, []string(nil)
	st := plain.Type().Elem()
	for k := range 2 * st.NumField() {
		name := st.Field(k % st.NumField()).Name
		if k >= st.NumField() {
			name = "Set" + name
		}
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		names = append(names, name)
	}
	if set {
		i += st.NumField()
	}
	return view.MethodByName(names[i])
}

// arrived gives what becomes of a value on its way to a receiver: inside of it,
// what is absent has its default.
func arrived(t testing.TB, st reflect.Type, i int, v reflect.Value) reflect.Value {
	if k := v.Kind(); (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map || k == reflect.Interface) && v.IsNil() {
		return v
	}
	msg, got := reflect.New(st), reflect.New(st)
	msg.Elem().Field(i).Set(v)
	if err := (thrift.Binary{}).Decode(buf.ViewOf(Encode(t, msg.Interface())), got.Interface(), Generous()); err != nil {
		t.Fatal(err)
	}
	return got.Elem().Field(i)
}
