package shape_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// mixed has fields of the IDL and others by turns, and fields that fill no word.
type mixed struct {
	a     bool
	B     bool  `f:"b,1"`
	C     int16 `f:"c,2"`
	d     int32
	E     *int64 `f:"e,3"`
	f     string
	G     string `f:"g,4"`
	H     bool   `f:"h,5"`
	i     bool
	J     []int64  `f:"j,6"`
	K     [16]byte `f:"k,7"`
	l     byte
	Extra []byte `f:"kept"`
	m     int16
}

// Clear finds each field of the IDL that is set, wherever it lies, and touches no other.
func TestClearOneByOne(t *testing.T) {
	m, _ := newMemo()
	for name, set := range map[string]func(x *mixed){
		"nothing": func(*mixed) {}, "a bool": func(x *mixed) { x.B = true }, "half a word": func(x *mixed) { x.C = 1 << 8 }, "a pointer": func(x *mixed) { x.E = new(int64) },
		"a text": func(x *mixed) { x.G = "g" }, "a bool behind it": func(x *mixed) { x.H = true }, "an empty list": func(x *mixed) { x.J = []int64{} },
		"the first of 16 bytes": func(x *mixed) { x.K[0] = 1 }, "the last of them": func(x *mixed) { x.K[15] = 1 }, "what was kept": func(x *mixed) { x.Extra = []byte("xx") },
	} {
		x := &mixed{a: true, d: 2, f: "f", i: true, l: 3, m: 4}
		want := *x
		set(x)
		s, p, err := m.Of(x)
		if err != nil {
			t.Fatal(err)
		}
		if s.Clear(p); !reflect.DeepEqual(x, &want) {
			t.Errorf("%s: %+v; want %+v", name, x, want)
		}
	}
}

// A struct with more required fields than there are bits has a bit for each of the first 64.
func TestWideStructs(t *testing.T) {
	for _, n := range []int{63, 64, 65, 100} {
		var fields []reflect.StructField
		for i := range n {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[bool](), Tag: reflect.StructTag(fmt.Sprintf(`f:"f%d,%d,required"`, i, i))})
		}
		m, _ := newMemo()
		s, _, err := m.Of(reflect.New(reflect.StructOf(fields)).Interface())
		if err != nil {
			t.Fatal(err)
		}
		var seen uint64
		for i, f := range s.Fields {
			if (f.Bit != 0) != (i < 64) || seen&f.Bit != 0 {
				t.Errorf("%d fields: number %d has the bit %b", n, i, f.Bit)
			}
			seen |= f.Bit
		}
		if seen != s.Bits || s.Wide != (n > 64) {
			t.Errorf("%d fields: bits %b of %b, wide %v", n, seen, s.Bits, s.Wide)
		}
	}
}

// Slabs hold many small structs and one that is large, which a struct that is kept pins.
func TestSlabs(t *testing.T) {
	for size, want := range map[int]int{0: 64, 1: 64, 256: 64, 257: 63, 1 << 10: 16, 16 << 10: 1, 16<<10 + 1: 1, math.MaxInt: 1} {
		if got := shape.SlabOf(size); got != want {
			t.Errorf("%d structs of %d bytes; want %d", got, size, want)
		}
	}
	// A copy of a list has its structs in slabs, and gaps where there is none.
	x := &Plain{Must: &Small{}}
	for i := range 200 {
		x.Small = append(x.Small, &Small{N: uint32(i)})
	}
	x.Small[5], x.Small[64], x.Small[199] = nil, nil, nil
	m, _ := newMemo()
	s, p, _ := m.Of(x)
	y := (*Plain)(s.Clone(p))
	if !reflect.DeepEqual(x.Small, y.Small) || y.Small[0] == x.Small[0] {
		t.Errorf("%v", m.Text(y))
	}
}

// tangle refers to the same struct along a number of paths that nobody can go to the end.
type tangle struct {
	List  []*tangle         `f:"list,1"`
	Bag   Bag[*tangle]      `f:"bag,2"`
	Map   map[int32]*tangle `f:"map,3"`
	Value int64             `f:"value,4"`
}

func tangled(depth int, value int64) *tangle {
	x := &tangle{Value: value}
	for range depth {
		y := &tangle{Value: value, Map: map[int32]*tangle{}, Bag: Bag[*tangle]{{Value: 1}, {Value: 2}}}
		for i := range 100 {
			y.List, y.Map[int32(i)] = append(y.List, x), x
		}
		x = y
	}
	return x
}

// Walkers take time in proportion to what is there, not to the paths that lead to it.
func TestSharedValuesEnd(t *testing.T) {
	m, _ := newMemo()
	x, same, other := tangled(4, 7), tangled(4, 7), tangled(4, 8)
	slices.Reverse(same.Bag)
	s, p, err := m.Of(x)
	if err != nil {
		t.Fatal(err)
	}
	for name, walk := range map[string]func() bool{
		"equal":    func() bool { return m.Equal(x, same) },
		"other":    func() bool { return !m.Equal(x, other) },
		"clone":    func() bool { return m.Equal(x, (*tangle)(s.Clone(p))) },
		"validate": func() bool { return s.Validate(p) == nil },
		"text":     func() bool { return len(m.Text(x)) <= 1024 },
	} {
		if !walk() { // or it does not end
			t.Errorf("%s: it is not so", name)
		}
	}
}

// keyed has maps with keys of several kinds, of which a path names one.
type keyed struct {
	Texts  map[string]*Small          `f:"texts,1"`
	Ints   map[int32]*Small           `f:"ints,2"`
	Flags  map[bool]*Small            `f:"flags,3"`
	IDs    map[[16]byte]*Small        `f:"ids,4"`
	Floats map[float64]*Small         `f:"floats,5"`
	Lists  [][]*Small                 `f:"lists,6"`
	Maps   map[string]map[int64]OneOf `f:"maps,7"`
	Bags   Bag[Bag[*Small]]           `f:"bags,8"`
	Long   []bool                     `f:"long,9"`
	Blob   []byte                     `f:"blob,10"`
	Big    map[int64]bool             `f:"big,11"`
}

// A path leads to where the fault is, however it is to be written.
func TestValidatePaths(t *testing.T) {
	m, _ := newMemo()
	big := map[int64]bool{}
	for i := range int64(1001) {
		big[i] = true
	}
	for want, x := range map[string]*keyed{
		`texts["a\nb"] is nil`:                             {Texts: map[string]*Small{"a\nb": nil}},
		`texts["` + strings.Repeat("x", 40) + `"] is nil`:  {Texts: map[string]*Small{strings.Repeat("x", 100): nil}},
		`ints[-5] is nil`:                                  {Ints: map[int32]*Small{-5: nil}},
		`flags[true] is nil`:                               {Flags: map[bool]*Small{true: nil}},
		`floats[1.5] is nil`:                               {Floats: map[float64]*Small{1.5: nil}},
		`ids[01000000-0000-0000-0000-000000000002] is nil`: {IDs: map[[16]byte]*Small{{0: 1, 15: 2}: nil}},
		`lists[1][2] is nil`:                               {Lists: [][]*Small{nil, {{}, {}, nil}}},
		`maps["a"][7] is nil`:                              {Maps: map[string]map[int64]OneOf{"a": {7: nil}}},
		`maps["a"][7].small is nil`:                        {Maps: map[string]map[int64]OneOf{"a": {7: &OneSmall{}}}},
		`bags[0][1] is nil`:                                {Bags: Bag[Bag[*Small]]{{{}, nil}}},
		`long is longer than 1,000`:                        {Long: make([]bool, 1001)},
		`blob is longer than 1,000`:                        {Blob: make([]byte, 1001)},
		`big is longer than 1,000`:                         {Big: big},
		"":                                                 {Texts: map[string]*Small{"k": {}}, Long: make([]bool, 1000), Blob: make([]byte, 1000)},
	} {
		s, p, err := m.Of(x)
		if err != nil {
			t.Fatal(err)
		}
		switch bad := s.Validate(p); {
		case want == "": // the longest that may be sent
			if bad != nil {
				t.Errorf("%+v is said of what is right", bad)
			}
		case bad == nil || bad.Path+" "+bad.Why != want:
			t.Errorf("%+v; want %s", bad, want)
		}
	}
}

// presets has defaults of all kinds that take memory, some of them the program's own.
type presets struct {
	Shared []byte           `f:"shared,1"`
	Bytes  []byte           `f:"bytes,2"`
	Maybe  *int64           `f:"maybe,3"`
	Inner  *Small           `f:"inner,4"`
	Twice  []*Small         `f:"twice,5"`
	Pairs  Entries          `f:"pairs,6"`
	One    OneOf            `f:"one,7"`
	Map    map[int32]string `f:"map,8"`
	Same   *Small           `f:"same,9"`
	//lint:ignore U1000 a field that walkers pass over
	make func(*presets)
}

var ours = []byte("the program's own")

func (p *presets) SetDefaults() {
	p.Shared, p.Bytes, p.Maybe = ours, make([]byte, 1, 50), new(int64)
	p.Inner = &Small{}
	p.Same, p.Twice = p.Inner, []*Small{p.Inner, p.Inner, {}}
	p.Pairs, p.One = Entries{{Key: []byte("key")}}, &OneSmall{S: p.Inner}
}

// What defaults cost is what is made for each struct, every thing once.
func TestPresetsCountThingsOnce(t *testing.T) {
	m, _ := newMemo()
	s, _, err := m.Of(new(presets))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	s.PresetCost(func(n, size int) int64 { sizes = append(sizes, n*size); return int64(n * size) })
	// The defaults are made twice, and both are counted: the first tells what is shared.
	small, pointer := int(unsafe.Sizeof(Small{})), int(unsafe.Sizeof(uintptr(0)))
	want := []int{50, 8, small, 3 * pointer, small, int(unsafe.Sizeof(Entry{})), 3, int(unsafe.Sizeof(OneSmall{}))}
	if got := sizes[len(sizes)-len(want):]; !slices.Equal(got, want) {
		t.Errorf("%v; want %v of %v", got, want, sizes)
	}
	total := 0
	for _, n := range want {
		total += n
	}
	if got := s.PresetCost(nil); got != int64(total) {
		t.Errorf("%d bytes; want %d", got, total)
	}
}
