package shape_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// rules are those of an IDL that is not Thrift: tags `f:"name,id,rule"`, lists of type
// Bag without an order, Entries for maps, a depth of 10 and sizes of 1,000.
type rules struct{ made *int }

type (
	Bag[T any] []T
	Entries    []Entry
	Entry      struct {
		Key   []byte
		Value int64
	}
	// A Shown is a view of a Plain: of what it points to.
	Shown struct{ of *Plain }
)

func (r rules) New(reflect.Type) *shape.Struct { *r.made++; return &shape.Struct{} }

func (rules) View(rt reflect.Type) (reflect.Type, func(*shape.Struct) shape.View) {
	if rt != reflect.TypeFor[Shown]() {
		return nil, nil
	}
	return reflect.TypeFor[Plain](), func(s *shape.Struct) shape.View { return view{s} }
}

func (rules) Field(f reflect.StructField) (spec shape.Spec, err error) {
	tag, ok := f.Tag.Lookup("f")
	if !ok {
		return spec, nil
	}
	if tag == "kept" {
		spec.Is = shape.KeptField
		return spec, nil
	}
	parts := append(strings.Split(tag, ","), "", "")
	spec.Is, spec.Name = shape.IDLField, parts[0]
	if spec.ID, err = strconv.Atoi(parts[1]); err != nil {
		return spec, errors.New("no id")
	}
	spec.Rule = map[string]shape.Rule{"required": shape.Required, "free": shape.Free}[parts[2]]
	return spec, nil
}

func (rules) Kind(rt reflect.Type, k shape.Kind) shape.Kind {
	switch {
	case strings.HasPrefix(rt.Name(), "Bag["):
		return shape.Set
	case rt == reflect.TypeFor[Entries]():
		return shape.Pairs
	case k == shape.Int8:
		return shape.None // this IDL has no such type
	}
	return k
}

func (rules) Words() shape.Words {
	return shape.Words{IDL: "tested", Pairs: "Entries", Kept: "rest"}
}
func (rules) Tag(id int, t *shape.Type) uint32 { return uint32(id)<<8 | uint32(t.Kind) }
func (rules) Complete([]*shape.Struct) error   { return nil }
func (rules) Whole(kept []byte, _ int) bool    { return len(kept)%2 == 0 }
func (rules) Most() (depth, size int)          { return 10, 1000 }

// view shows what a Shown points to.
type view struct{ s *shape.Struct }

func (view) Same(p, q unsafe.Pointer) (same, known bool) {
	a, b := (*Shown)(p).of, (*Shown)(q).of
	return a == b, a == nil || b == nil || a == b
}
func (view) Plain(p unsafe.Pointer) unsafe.Pointer { return unsafe.Pointer((*Shown)(p).of) }
func (v view) Clone(q, p unsafe.Pointer) {
	(*Shown)(q).of = (*Plain)(v.s.Of.Clone(unsafe.Pointer((*Shown)(p).of)))
}
func (view) Validate(p unsafe.Pointer) string {
	if (*Shown)(p).of == nil {
		return "shows nothing"
	}
	return ""
}
func (v view) Mask(p unsafe.Pointer, n *shape.Node, keep bool) {
	n.Apply(v.s.Of, unsafe.Pointer((*Shown)(p).of), keep)
}
func (v view) Text(w *shape.Writer, p unsafe.Pointer, depth int) {
	if w.Step() {
		w.Add("<shown>")
	}
}

type Plain struct {
	Flag   bool    `f:"flag,1"`
	I16    int16   `f:"i16,2"`
	I32    int32   `f:"i32,3,required"`
	I64    int64   `f:"i64,4"`
	U32    uint32  `f:"u32,5"`
	U64    uint64  `f:"u64,6"`
	F32    float32 `f:"f32,7"`
	F64    float64 `f:"f64,8"`
	ID     [16]byte
	Text   string             `f:"text,10,free"`
	Bytes  []byte             `f:"bytes,11"`
	Maybe  *uint64            `f:"maybe,12"`
	Inner  *Plain             `f:"inner,13,free"`
	Must   *Small             `f:"must,14,required"`
	One    OneOf              `f:"one,15"`
	List   []float32          `f:"list,16,free"`
	Bag    Bag[float32]       `f:"bag,17"`
	Map    map[uint32]float32 `f:"map,18,free"`
	Pairs  Entries            `f:"pairs,19"`
	Floats map[float64]string `f:"floats,20"`
	Small  []*Small           `f:"small,21"`
	View   *Shown             `f:"view,22"`
	Rest   []byte             `f:"kept"`
	own    int
}

type Small struct {
	N uint32 `f:"n,1"`
}

type OneOf interface{ isUnion(*OneNumber, *OneSmall) }
type OneNumber struct {
	N uint64 `f:"number,1"`
}
type OneSmall struct {
	S *Small `f:"small,2"`
}

func (*OneNumber) isUnion(*OneNumber, *OneSmall) {}
func (*OneSmall) isUnion(*OneNumber, *OneSmall)  {}

func newMemo() (*shape.Memo, *int) {
	made := new(int)
	return &shape.Memo{Rules: rules{made}}, made
}

func whole() *Plain {
	return &Plain{Flag: true, I16: -2, I32: -3, I64: -4, U32: 1 << 31, U64: 1 << 63, F32: 1.5, F64: 2.5, Text: "text", Bytes: []byte{1, 2}, Maybe: new(uint64(7)),
		Inner: &Plain{Must: &Small{}}, Must: &Small{N: 1}, One: &OneSmall{S: &Small{N: 2}}, List: []float32{1, 2}, Bag: Bag[float32]{1, 2, 3},
		Map: map[uint32]float32{1: 1, 2: 2}, Pairs: Entries{{Key: []byte("a"), Value: 1}, {Key: []byte("b"), Value: 2}},
		Floats: map[float64]string{1: "a", math.NaN(): "b"}, Small: []*Small{{N: 1}, {N: 2}}, View: &Shown{of: &Plain{I32: 9, Must: &Small{}}}, Rest: []byte("xx")}
}

// TestFields holds the description against what the Go type says.
func TestFields(t *testing.T) {
	m, _ := newMemo()
	s, p, err := m.Of(whole())
	if err != nil || p == nil || s.Go != reflect.TypeFor[Plain]() || s.Size != int(unsafe.Sizeof(Plain{})) || !s.HasKept() || s.HasPreset() {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, want := range map[string]struct {
		kind     shape.Kind
		presence shape.Presence
		rule     shape.Rule
	}{
		"flag": {shape.Bool, shape.Always, shape.Default}, "i32": {shape.Int32, shape.Always, shape.Required}, "u32": {shape.Uint32, shape.Always, shape.Default},
		"u64": {shape.Uint64, shape.Always, shape.Default}, "f32": {shape.Float32, shape.Always, shape.Default}, "text": {shape.String, shape.Always, shape.Free},
		"bytes": {shape.Bytes, shape.Always, shape.Default}, "maybe": {shape.Pointer, shape.Optional, shape.Default}, "inner": {shape.Ref, shape.Nilable, shape.Free},
		"must": {shape.Ref, shape.Nilable, shape.Required}, "one": {shape.Union, shape.Nilable, shape.Default}, "list": {shape.List, shape.Nilable, shape.Free},
		"bag": {shape.Set, shape.Always, shape.Default}, "map": {shape.Map, shape.Nilable, shape.Free}, "pairs": {shape.Pairs, shape.Always, shape.Default},
	} {
		i := slices.IndexFunc(s.Names, func(n shape.Name) bool { return n.IDL == name })
		f := &s.Fields[i]
		if f.Kind != want.kind || f.Presence != want.presence || f.Rule != want.rule || f.Type.Kind != want.kind || int(f.Index) != i ||
			f.Tag != uint32(s.Names[i].ID)<<8|uint32(want.kind) || (f.Bit != 0) != (want.rule == shape.Required) || s.IDL(f) != name {
			t.Errorf("%s: %+v", name, f)
		}
		field, _ := s.Go.FieldByName(s.Names[i].Go)
		if uintptr(f.Offset) != field.Offset || f.Type.Go != field.Type {
			t.Errorf("%s is not where it is: %+v", name, f)
		}
		// An empty struct has what is always there, and nothing else.
		if absent := f.Absent(unsafe.Add(s.New(), f.Offset)); absent != (want.presence != shape.Always) {
			t.Errorf("%s is absent: %v", name, absent)
		}
		if f.Absent(unsafe.Add(p, f.Offset)) {
			t.Errorf("%s is there", name)
		}
	}
	if n := len(s.Fields); n != 21 || s.Bits != 3 || s.Wide {
		t.Errorf("%d fields, bits %b", n, s.Bits)
	}
}

func TestLayoutsOfMaps(t *testing.T) {
	type M struct {
		A map[string]string           `f:"a,1"`
		B map[uint32]*Small           `f:"b,2"`
		C map[int64]float64           `f:"c,3"`
		D map[float32]string          `f:"d,4"`
		E map[string][]string         `f:"e,5"`
		F map[[16]byte]string         `f:"f,6"`
		G map[int32]float32           `f:"g,7"`
		H map[string]map[int32]string `f:"h,8"`
		I map[string]bool             `f:"i,9"`
	}
	m, _ := newMemo()
	s, _, err := m.Of(&M{})
	if err != nil {
		t.Fatal(err)
	}
	want := []shape.MapLayout{shape.StringString, shape.Map4Pointer, shape.Map8x8, shape.OtherMap, shape.StringSlice, shape.OtherMap, shape.Map4x4, shape.StringPointer, shape.String1}
	for i, f := range s.Fields {
		if f.Type.Maps != want[i] {
			t.Errorf("%s: layout %d; want %d", s.IDL(&f), f.Type.Maps, want[i])
		}
	}
}

// TestMemoIsOneForAll has many goroutines ask for the same types, which are made once.
func TestMemoIsOneForAll(t *testing.T) {
	m, made := newMemo()
	var wg sync.WaitGroup
	found := make([]*shape.Struct, 50)
	for i := range found {
		wg.Go(func() { found[i], _, _ = m.Of(&Plain{}) })
	}
	wg.Wait()
	if len(slices.Compact(found)) != 1 || *made != 5 { // Plain, Small, two variants, Shown
		t.Errorf("%d structs were made", *made)
	}
	if s, _, err := m.Of(&Small{}); err != nil || s != found[0].Fields[len(found[0].Fields)-2].Type.Elem.Struct {
		t.Errorf("what a struct refers to is another one: %v", err)
	}
}

func TestTypesThatAreRefused(t *testing.T) {
	m, made := newMemo()
	for want, msg := range map[string]any{
		"nil: a message is a pointer to a struct":              nil,
		"shape_test.Small: a message is a pointer to a struct": Small{},
		"*shape_test.Small: the message is nil":                (*Small)(nil),
		"A: the type int8 has no tested type": &struct {
			A int8 `f:"a,1"`
		}{},
		"A: the type complex64 has no tested type": &struct {
			A complex64 `f:"a,1"`
		}{},
		"A: no id": &struct {
			A int32 `f:"a,x"`
		}{},
		"B: id 1 is also that of A": &struct {
			A, B int32 `f:"a,1"`
		}{},
		"A: a struct is referred to by a pointer: *shape_test.Small": &struct {
			A Small `f:"a,1"`
		}{},
		"A: a pointer to int32 can only be a field": &struct {
			A []*int32 `f:"a,1"`
		}{},
		"A: a map's key cannot be *shape_test.Small: use Entries": &struct {
			A map[*Small]int32 `f:"a,1"`
		}{},
		"A: a view can only be a message or a field, not *shape_test.Shown in a co": &struct {
			A []*Shown `f:"a,1"`
		}{},
		"B: there is one field of type rest already": &struct {
			A, B []byte `f:"kept"`
		}{},
		"A: the interface interface { M() } is no union": &struct {
			A interface{ M() } `f:"a,1"`
		}{},
		"B: the type chan int has no tested type": &struct {
			Good *Small   `f:"g,1"`
			B    chan int `f:"b,2"`
		}{},
	} {
		_, _, err := m.Of(msg)
		var bad *shape.TypeError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v; want %s", msg, err, want)
		}
	}
	// A fault leaves nothing behind: Small was made with the last one, and is made again.
	before := *made
	if _, _, err := m.Of(&Small{}); err != nil || *made != before+1 {
		t.Errorf("%d structs are new, %v", *made-before, err)
	}
}

// TestWalkers has all kinds and a view go through each of the walkers.
func TestWalkers(t *testing.T) {
	m, _ := newMemo()
	a := whole()
	s, p, err := m.Of(a)
	if err != nil {
		t.Fatal(err)
	}
	b := (*Plain)(s.Clone(p))
	if !m.Equal(a, b) || a.View == b.View || a.View.of == b.View.of || &a.List[0] == &b.List[0] || a.Maybe == b.Maybe {
		t.Errorf("a copy is not one: %s; want %s", m.Text(b), m.Text(a))
	}
	b.Bag, b.Pairs = Bag[float32]{3, 1, 2}, Entries{b.Pairs[1], b.Pairs[0]}
	if !m.Equal(a, b) {
		t.Error("what has no order is not equal in another one")
	}
	for name, change := range map[string]func(x *Plain){
		"f32": func(x *Plain) { x.F32 = 1.25 }, "u64": func(x *Plain) { x.U64-- }, "list": func(x *Plain) { x.List = []float32{2, 1} }, "bag": func(x *Plain) { x.Bag[0] = 7 },
		"maybe": func(x *Plain) { x.Maybe = nil }, "one": func(x *Plain) { x.One = &OneNumber{N: 2} }, "view": func(x *Plain) { x.View.of.I32++ },
		"rest": func(x *Plain) { x.Rest[0] = 'y' }, "floats": func(x *Plain) { x.Floats[1] = "c" }, "free": func(x *Plain) { x.List = nil }, "pairs": func(x *Plain) { x.Pairs[0].Value++ },
	} {
		c := (*Plain)(s.Clone(p))
		if change(c); m.Equal(a, c) || m.Equal(c, a) {
			t.Errorf("%s may differ", name)
		}
	}
	nan := float32(math.NaN())
	if !m.Equal(&Plain{F32: nan, Bag: Bag[float32]{1, nan}}, &Plain{F32: nan, Bag: Bag[float32]{nan, 1}, own: 1}) {
		t.Error("what is no number differs, or what is none of the IDL's is looked at")
	}
	if bad := s.Validate(p); bad != nil {
		t.Errorf("%+v", bad)
	}
	s.Clear(p)
	if !reflect.DeepEqual(a, &Plain{}) {
		t.Errorf("cleared: %+v", a)
	}
}

func TestValidateNamesThePlace(t *testing.T) {
	m, _ := newMemo()
	deep := &Plain{Must: &Small{}}
	for range 12 {
		deep = &Plain{Must: &Small{}, Inner: deep}
	}
	for want, change := range map[string]func(x *Plain){
		"must is required and nil":                        func(x *Plain) { x.Must = nil },
		"small[1] is nil":                                 func(x *Plain) { x.Small = []*Small{{}, nil} },
		"one.small is nil":                                func(x *Plain) { x.One = &OneSmall{} },
		"view shows nothing":                              func(x *Plain) { x.View = &Shown{} },
		"text is longer than 1,000":                       func(x *Plain) { x.Text = strings.Repeat("x", 1001) },
		" has a rest that does not hold whole fields, or": func(x *Plain) { x.Rest = []byte("x") },
		"inner.inner.inner.inner.inner.inner.inner.inner.inner.inner is nested too deeply": func(x *Plain) { x.Inner = deep },
		`inner.must is required and nil`: func(x *Plain) { x.Inner = &Plain{} },
	} {
		x := whole()
		change(x)
		s, p, _ := m.Of(x)
		if bad := s.Validate(p); bad == nil || !strings.HasPrefix(bad.Path+" "+bad.Why, want) {
			t.Errorf("%+v; want %s", bad, want)
		}
	}
}

func TestMasksOfAnyIDL(t *testing.T) {
	m, _ := newMemo()
	x := whole()
	s, p, _ := m.Of(x)
	mask, bad := s.NewMask("u64, inner.f32, view.i64, small.n", true)
	if bad != nil {
		t.Fatal(bad)
	}
	mask.Apply(s, p)
	want := &Plain{U64: 1 << 63, I32: -3, Must: &Small{N: 1}, Inner: &Plain{Must: &Small{}}, Small: []*Small{{N: 1}, {N: 2}}, View: &Shown{of: &Plain{I32: 9, Must: &Small{}}}}
	if !m.Equal(x, want) {
		t.Errorf("%s; want %s", m.Text(x), m.Text(want))
	}
	for paths, why := range map[string]string{"nothing": "there is no field \"nothing\"", "i32": "a required field cannot be dropped", "u64.x": "there are no fields in what is before the last dot"} {
		if _, bad := s.NewMask(paths, false); bad == nil || bad.Why != why {
			t.Errorf("%s: %+v; want %s", paths, bad, why)
		}
	}
}

func TestTextOfAnyIDL(t *testing.T) {
	m, _ := newMemo()
	got := m.Text(&Plain{U32: 1 << 31, U64: 1 << 63, F32: 0.1, Must: &Small{N: 7}, Maybe: new(uint64(1)), View: &Shown{}, Rest: []byte("xx")})
	want := `Plain{flag:false i16:0 i32:0 i64:0 u32:2147483648 u64:9223372036854775808 f32:0.1 f64:0 text:"" bytes:0 bytes maybe:1 must:{n:7} ` +
		`bag:[] pairs:[] floats:{} small:[] view:<shown> unknown:2 bytes 7878}`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := m.Text(3) + m.Text(nil) + m.Text((*Plain)(nil)); got != "intnilnil" {
		t.Error(got)
	}
}

// A Preset has defaults, of which only what is made for each is counted.
type Preset struct {
	Map  map[string]string `f:"map,1"`
	Text string            `f:"text,2"`
}

func (p *Preset) SetDefaults() { p.Map, p.Text = map[string]string{"a": "b"}, "a text of the program" }

func TestPresetsAreCounted(t *testing.T) {
	m, _ := newMemo()
	s, p, err := m.Of(new(Preset))
	if err != nil || !s.HasPreset() {
		t.Fatal(err)
	}
	calls := 0
	cost := func(n, size int) int64 { calls++; return int64(n * size) }
	if got := s.PresetCost(cost); got < 100 || got > 1000 {
		t.Errorf("a small map costs %d", got)
	}
	before := calls
	if s.PresetCost(cost); calls != before {
		t.Error("it is counted again")
	}
	s.Preset(p)
	if !m.Equal((*Preset)(p), &Preset{Map: map[string]string{"a": "b"}, Text: "a text of the program"}) {
		t.Error(m.Text((*Preset)(p)))
	}
}

func TestUUIDs(t *testing.T) {
	const text = "00112233-4455-6677-8899-aabbccddeeff"
	u, ok := shape.ParseUUID(strings.ToUpper(text))
	if !ok || shape.UUIDText(u) != text {
		t.Errorf("%x, %v", u, ok)
	}
	for _, bad := range []string{"", text[1:], text + "0", strings.Replace(text, "-", "0", 1), strings.Replace(text, "f", "g", 1)} {
		if _, ok := shape.ParseUUID(bad); ok {
			t.Errorf("%q is one", bad)
		}
	}
}
