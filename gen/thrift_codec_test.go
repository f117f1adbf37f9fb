package gen_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/clash"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/demo/hello"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/kinds"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/shared"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// generated gives an empty one of each type that has generated methods.
func generated() []any {
	all := []any{
		new(kinds.Leaf), new(kinds.Needs), new(kinds.Branch), new(kinds.Boxes), new(kinds.Row), new(kinds.None), new(kinds.Named), new(kinds.Many), new(kinds.Bags),
		new(hello.Point), new(hello.Tree), new(hello.Everything), new(hello.NotFound), new(hello.Teapot), new(hello.Plain), new(hello.Other),
		new(shared.Thing), new(shared.Far), new(clash.UserName), new(clash.UserName_), new(clash.Error), new(clash.Uses), new(clash.Calls),
	}
	for _, s := range []rpc.Service{kinds.KindsService(nil), hello.HelloService(nil), clash.Calls_Service(nil), clash.MoreService(nil)} {
		for _, h := range s.Methods {
			all = append(all, outer(s, h.Method.Name, false), outer(s, h.Method.Name, true))
		}
	}
	return slices.DeleteFunc(all, func(msg any) bool {
		_, ok := reflect.TypeOf(msg).MethodByName("EncodeThrift")
		return !ok
	})
}

func fresh(msg any) any { return reflect.New(reflect.TypeOf(msg).Elem()).Interface() }

// A filler makes random messages.
type filler struct {
	r    *rand.Rand
	most int // elements of a container, at most
}

// fill fills v, a struct or a part of one. What must not be nil is nil at times.
func (f filler) fill(v reflect.Value, depth int) {
	r := f.r
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> r.IntN(64))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString(f.text())
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(r.Uint64() & 0xff)
		}
	case reflect.Pointer:
		if depth > 0 && r.IntN(20) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), depth)
		}
	case reflect.Interface:
		m := v.Type().Method(0).Type
		if m.NumIn() == 1 && m.In(0).Kind() == reflect.Func {
			m = m.In(0)
		}
		if depth > 0 && m.NumIn() > 0 && r.IntN(20) > 0 {
			c := reflect.New(m.In(r.IntN(m.NumIn())).Elem())
			f.fill(c.Elem(), depth-1)
			v.Set(c)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(f.text()))
		} else if r.IntN(5) > 0 {
			n := r.IntN(f.most + 1)
			if r.IntN(8) == 0 && v.Type().Elem().Size() <= 24 && v.Type().Elem().Kind() != reflect.Pointer && v.Type().Elem().Kind() != reflect.Slice {
				n += 200
			}
			if depth <= 0 {
				n = 0
			}
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		if r.IntN(5) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range r.IntN(f.most + 1) {
				if depth > 0 {
					key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
					f.fill(key, depth-1)
					f.fill(value, depth-1)
					v.SetMapIndex(key, value)
				}
			}
		}
	default:
		panic(v.Type().String())
	}
}

// text is short most of the time, and at times so long that blocks are too small.
func (f filler) text() string {
	n := f.r.IntN(1 << f.r.IntN(8))
	if f.r.IntN(60) == 0 {
		n = f.r.IntN(1 << f.r.IntN(17))
	}
	return strings.Repeat(string(rune('a'+f.r.IntN(26))), n)
}

func appended(c thrift.Binary, before int, msg any) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	out.Append(make([]byte, before)) // so that blocks end elsewhere
	m := out.Mark()
	err := c.Append(&out, msg)
	if err != nil {
		return nil, err
	}
	v := out.Take(m)
	defer v.Release()
	return bytes.Clone(v.Bytes()), nil
}

func sameText(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// decodeBoth decodes body by generated code and by the plan, and wants the same
// of them.
func decodeBoth(t testing.TB, kind any, body []byte, lim *rpc.Limits) (any, error) {
	t.Helper()
	// What is there before must be gone, or stay, alike.
	a, b := fresh(kind), fresh(kind)
	errA := thrift.Binary{}.Decode(buf.ViewOf(body), a, lim)
	errB := thrift.Binary{Plan: true}.Decode(buf.ViewOf(body), b, lim)
	if !sameText(errA, errB) {
		t.Fatalf("%T, limits %d %d\n%x\ngenerated: %v\nplan:      %v", kind, lim.Depth, lim.DecodeFactor, body, errA, errB)
	}
	if errA == nil && !equal(a, b) {
		t.Fatalf("%T\n%x\ngenerated: %+v\nplan:      %+v", kind, body, a, b)
	}
	return a, errA
}

// equal is reflect.DeepEqual, but that a NaN is one.
func equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || fmt.Sprintf("%#v", a) != "" && strings.Contains(dump(a), "NaN") && dump(a) == dump(b)
}

// dump writes all of a value, for comparing.
func dump(v any) string {
	var b strings.Builder
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				b.WriteString("nil ")
				return
			}
			walk(v.Elem())
		case reflect.Struct:
			fmt.Fprintf(&b, "%s{", v.Type())
			for i := range v.NumField() {
				walk(v.Field(i))
			}
			b.WriteString("}")
		case reflect.Slice:
			fmt.Fprintf(&b, "[%d %v ", v.Len(), v.IsNil())
			for i := range v.Len() {
				walk(v.Index(i))
			}
			b.WriteString("]")
		default:
			fmt.Fprintf(&b, "%#v ", v.Interface())
		}
	}
	walk(reflect.ValueOf(v))
	return b.String()
}

// TestGeneratedIsPlanned encodes and decodes random messages of all types, by
// generated code and by the plan: bytes, values and errors are the same.
func TestGeneratedIsPlanned(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 60
	}
	lim := rpc.Limits{}.WithDefaults()
	done := 0
	for _, kind := range generated() {
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 4))
			f := filler{r: r, most: 1}
			if seed%2 == 0 {
				f.most = 4 // maps have no order then
			}
			msg := fresh(kind)
			f.fill(reflect.ValueOf(msg).Elem(), 1+r.IntN(6))
			codec, before := thrift.Binary{}, r.IntN(5000)
			if seed%8 == 1 {
				codec.MaxDepth = 1 + r.IntN(6)
			}
			got, err := appended(codec, before, msg)
			codec.Plan = true
			want, errPlan := appended(codec, before, msg)
			if f.most > 1 { // nor the first of several faults in them
				for _, err := range []error{err, errPlan} {
					if e, ok := errors.AsType[*thrift.TypeError](err); ok {
						e.Path = ""
					}
				}
			}
			if !sameText(err, errPlan) {
				t.Fatalf("%T, seed %d\ngenerated: %v\nplan:      %v", kind, seed, err, errPlan)
			}
			if err != nil {
				continue
			}
			done++
			if len(got) != len(want) || f.most == 1 && !bytes.Equal(got, want) {
				t.Fatalf("%T, seed %d\ngenerated: %x\nplan:      %x", kind, seed, got, want)
			}
			a, errA := decodeBoth(t, kind, got, lim)
			b, errB := decodeBoth(t, kind, want, lim)
			if !sameText(errA, errB) || errA == nil && !reflect.DeepEqual(a, b) {
				t.Fatalf("%T, seed %d: what the two encoded is not the same", kind, seed)
			}
			for range 20 {
				tight := rpc.Limits{Depth: 1 + r.IntN(8), DecodeFactor: 1 + r.IntN(16)}.WithDefaults()
				decodeBoth(t, kind, mutated(r, got), tight)
			}
		}
	}
	if done < int(seeds)*len(generated())/3 {
		t.Errorf("only %d messages could be encoded", done)
	}
}

// TestEveryKindEncodes encodes an empty message of each type that requires
// nothing, one with a union without variants among them.
func TestEveryKindEncodes(t *testing.T) {
	for _, kind := range generated() {
		if requires(reflect.TypeOf(kind).Elem()) {
			continue
		}
		body, err := appended(thrift.Binary{}, 0, kind)
		if err != nil {
			t.Errorf("%T: %v", kind, err)
			continue
		}
		if _, err := decodeBoth(t, kind, body, rpc.Limits{}.WithDefaults()); err != nil {
			t.Errorf("%T: %v", kind, err)
		}
	}
}

// Arguments and results with structs have methods as well; those without do not.
func TestOuterMethods(t *testing.T) {
	n := 0
	for _, msg := range generated() {
		if name := reflect.TypeOf(msg).Elem().Name(); strings.HasSuffix(name, "Args") || strings.HasSuffix(name, "Result") {
			n++
		}
	}
	if n < 12 {
		t.Errorf("%d arguments and results have methods", n)
	}
	for _, result := range []bool{false, true} {
		msg := outer(hello.HelloService(nil), "add", result)
		if _, ok := reflect.TypeOf(msg).MethodByName("EncodeThrift"); ok {
			t.Errorf("%T has methods", msg)
		}
	}
}

// requires tells whether a struct has a required field that is nil in an empty one.
func requires(rt reflect.Type) bool {
	for i := range rt.NumField() {
		f := rt.Field(i)
		if k := f.Type.Kind(); strings.HasSuffix(f.Tag.Get("thrift"), ",required") && (k == reflect.Pointer || k == reflect.Interface) {
			return true
		}
	}
	return false
}

// TestOuterAllocations: arguments and results that hold a struct cost what it costs.
func TestOuterAllocations(t *testing.T) {
	for _, result := range []bool{false, true} {
		msg := outer(kinds.KindsService(nil), "branch", result)
		reflect.ValueOf(msg).Elem().Field(0).Set(reflect.ValueOf(&kinds.Branch{Name: "name"}))
		body, err := appended(thrift.Binary{}, 0, msg)
		if err != nil {
			t.Fatal(err)
		}
		var out buf.Out
		out.AppendString("held")
		m, lim := out.Mark(), rpc.Limits{}.WithDefaults()
		if n := testing.AllocsPerRun(100, func() {
			out.Truncate(m)
			if err := (thrift.Binary{}).Append(&out, msg); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("result %v: %v allocations to encode, want none", result, n)
		}
		into := fresh(msg)
		if n := testing.AllocsPerRun(100, func() {
			if err := (thrift.Binary{}).Decode(buf.ViewOf(body), into, lim); err != nil {
				t.Error(err)
			}
		}); n != 3 {
			t.Errorf("result %v: %v allocations to decode; the struct, its name and an empty map are 3", result, n)
		}
	}
}

// TestGeneratedAllocations counts what is needed and no more.
func TestGeneratedAllocations(t *testing.T) {
	msg := &kinds.Leaf{Text: "text", Blob: []byte("blob")}
	body, err := appended(thrift.Binary{}, 0, msg)
	if err != nil {
		t.Fatal(err)
	}
	var out buf.Out
	out.AppendString("held")
	m, lim := out.Mark(), rpc.Limits{}.WithDefaults()
	if n := testing.AllocsPerRun(100, func() {
		out.Truncate(m)
		if err := (thrift.Binary{}).Append(&out, msg); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations to encode, want none", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), new(kinds.Leaf), lim); err != nil {
			t.Error(err)
		}
	}); n != 3 {
		t.Errorf("%v allocations to decode; the struct, its text and its binary are 3", n)
	}
}

// mutated is body with fields in another order, twice, unknown or changed.
func mutated(r *rand.Rand, body []byte) []byte {
	var fields [][]byte
	for rest := body; len(rest) > 3; {
		n, err := raw.Skip(rest[3:], raw.Type(rest[0]), 64)
		if err != nil {
			break
		}
		fields = append(fields, rest[:3+n])
		rest = rest[3+n:]
	}
	unknown := [][]byte{{8, 0x70, 1, 1, 2, 3, 4}, {12, 0x70, 2, 8, 0, 1, 1, 2, 3, 4, 0}, {11, 0, 1, 0, 0, 0, 1, 'x'}, {15, 0, 3, 8, 0, 0, 0, 0}, {15, 0, 8, 11, 0, 0, 0, 1, 0, 0, 0, 0}}
	for range r.IntN(4) {
		at := r.IntN(len(fields) + 1)
		switch r.IntN(5) {
		case 0:
			fields = append(fields[:at:at], append([][]byte{unknown[r.IntN(len(unknown))]}, fields[at:]...)...)
		case 1:
			if at < len(fields) {
				fields = append(fields, fields[at])
			}
		case 2:
			if at < len(fields) {
				fields = append(fields[:at:at], fields[at+1:]...)
			}
		case 3:
			r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		}
	}
	b := append(bytes.Join(fields, nil), 0)
	for range r.IntN(3) {
		switch at := r.IntN(len(b)); r.IntN(4) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = []byte{0, 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16}[r.IntN(13)]
		case 2:
			b = b[:at+1]
		}
	}
	return b
}

// TestGeneratedPrefixes cuts messages at each byte.
func TestGeneratedPrefixes(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for _, kind := range generated() {
		for seed := range uint64(3) {
			msg := fresh(kind)
			filler{r: rand.New(rand.NewPCG(seed, 5)), most: 2}.fill(reflect.ValueOf(msg).Elem(), 3)
			body, err := appended(thrift.Binary{}, 0, msg)
			if err != nil {
				continue
			}
			for n := range min(len(body), 3000) {
				if _, err := decodeBoth(t, kind, body[:n:n], lim); err == nil {
					t.Fatalf("%T: the first %d bytes of %d pass", kind, n, len(body))
				}
			}
		}
	}
}

// FuzzGenerated decodes whatever comes by both.
func FuzzGenerated(f *testing.F) {
	kinds := generated()
	for i, kind := range kinds {
		msg := fresh(kind)
		filler{r: rand.New(rand.NewPCG(1, 6)), most: 2}.fill(reflect.ValueOf(msg).Elem(), 3)
		if body, err := appended(thrift.Binary{}, 0, msg); err == nil {
			f.Add(body, uint8(i), uint8(64), uint8(16))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, i, depth, factor uint8) {
		decodeBoth(t, kinds[int(i)%len(kinds)], body, rpc.Limits{Depth: int(depth), DecodeFactor: int(factor)}.WithDefaults())
	})
}

// TestDecodedOutlivesItsBlock releases the block that a message was decoded from,
// has it used again, and looks at the message then.
func TestDecodedOutlivesItsBlock(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for _, plan := range []bool{false, true} {
		codec := thrift.Binary{Plan: plan}
		for _, n := range []int{1, 100, 2000, 3000, 20_000, 40_000, 70_000, 600_000, 2 << 20} {
			want := &kinds.Needs{A: 1, B: strings.Repeat("b", n), C: new(int32(5)), D: &kinds.Leaf{Text: strings.Repeat("d", n/3), Blob: []byte("blob")},
				E: []int32{1, 2, 3}, G: map[string]int64{"g": 1}, H: []*kinds.Leaf{{Text: "h", Blob: []byte{}}}, L: new("l"), O: &kinds.ChoiceText{Text: "o"}, U: make([]byte, n)}
			body, err := appended(codec, 0, want)
			if err != nil {
				t.Fatal(err)
			}
			var got []*kinds.Needs
			for range 4 {
				b := buf.Acquire(len(body))
				v := b.View(0, copy(b.Mem(), body))
				b.Release()
				m := new(kinds.Needs)
				if err := codec.Decode(v, m, lim); err != nil {
					t.Fatal(err)
				}
				v.Release()
				got = append(got, m)
				b = buf.Acquire(len(body))
				mem := b.Mem()
				for i := range mem {
					mem[i] = 0xcc
				}
				b.Release()
				runtime.GC()
			}
			for _, m := range got {
				if !reflect.DeepEqual(m, want) {
					t.Fatalf("plan %v, %d bytes: the message changed when its block was used again", plan, n)
				}
			}
		}
	}
}

// TestRepeatedArgumentsCannotCostMuch: each struct that is handed to its
// generated methods has room for its strings, and a field can come any number of times.
func TestRepeatedArgumentsCannotCostMuch(t *testing.T) {
	type args struct {
		What *hello.NotFound `thrift:"what,1"`
	}
	field := []byte("\x0c\x00\x01" + "\x0b\x00\x01\x00\x00\x00\x01x" + "\x00")
	body := append(bytes.Repeat(field, 100_000), 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var a args
	err := thrift.Binary{}.Decode(buf.ViewOf(body), &a, nil)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(16*len(body)+64<<10) {
		t.Errorf("%d bytes of memory for %d", spent, len(body))
	}
	if err != nil || a.What.Message != "x" {
		t.Errorf("%v, %v", a.What, err)
	}
}
