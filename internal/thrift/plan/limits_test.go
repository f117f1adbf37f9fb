package plan_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// TestSmallMessagesCannotCostMuch gives the decoder messages that declare or
// pack more than they are worth.
func TestSmallMessagesCannotCostMuch(t *testing.T) {
	const n = 1 << 20
	list := func(id byte, elem raw.Type, count uint32, body []byte) []byte {
		p := binary.BigEndian.AppendUint32([]byte{15, 0, id, byte(elem)}, count)
		return append(append(p, body...), 0)
	}
	entries := func(id byte, key, elem raw.Type, count uint32, body []byte) []byte {
		p := binary.BigEndian.AppendUint32([]byte{13, 0, id, byte(key), byte(elem)}, count)
		return append(append(p, body...), 0)
	}
	for _, tt := range []struct {
		name string
		body []byte
		why  string
	}{
		{"two million levels", bytes.Repeat(thrifttest.Unhex(t, "0c000b"), 2_000_000), "nested too deeply"},
		{"two million unknown levels", bytes.Repeat(thrifttest.Unhex(t, "0c0063"), 2_000_000), "nested too deeply"},
		{"two million lists", append(thrifttest.Unhex(t, "0f0003"), bytes.Repeat(thrifttest.Unhex(t, "0f00000001"), 2_000_000)...), "element of another type|nested too deeply"},
		{"an unknown type at the end", thrifttest.Unhex(t, "07"), "unknown wire type"},
		{"an unknown type", thrifttest.Unhex(t, "07 0001 00"), "unknown wire type"},
		{"a string of 2 GB", thrifttest.Unhex(t, "0b0008 7fffffff 00"), "size beyond the end"},
		{"a string of -1", thrifttest.Unhex(t, "0b0008 ffffffff 00"), "size beyond the end"},
		{"binary of 2 GB", thrifttest.Unhex(t, "0b0009 7fffffff 00"), "size beyond the end"},
		{"2 G numbers", thrifttest.Unhex(t, "0f000a 0a 7fffffff 00"), "size beyond the end"},
		{"-1 numbers", thrifttest.Unhex(t, "0f000a 0a ffffffff 00"), "negative size"},
		{"2 G structs", thrifttest.Unhex(t, "0f0001 0c 7fffffff 00"), "size beyond the end"},
		{"2 G entries", thrifttest.Unhex(t, "0d0004 0b0c 7fffffff 00"), "size beyond the end"},
		{"-1 entries", thrifttest.Unhex(t, "0d0004 0b0c ffffffff 00"), "negative size"},
		{"2 G entries by reflection", thrifttest.Unhex(t, "0d0005 030c 7fffffff 00"), "size beyond the end"},
		{"2 G pairs", thrifttest.Unhex(t, "0d0006 0c0f 7fffffff 00"), "size beyond the end"},
		{"2 G unions", thrifttest.Unhex(t, "0f0007 0c 7fffffff 00"), "size beyond the end"},
		{"a million structs", list(1, raw.TypeStruct, n, make([]byte, n)), "takes more memory than its size allows"},
		{"a million unions", list(7, raw.TypeStruct, n, make([]byte, n)), "takes more memory than its size allows"},
		{"a million entries", entries(5, raw.TypeI8, raw.TypeStruct, n, make([]byte, 2*n)), "takes more memory than its size allows"},
		{"100,000 strings", list(2, raw.TypeString, 100_000, make([]byte, 400_000)), ""},
		{"a field 100,000 times", append(bytes.Repeat(thrifttest.Unhex(t, "0c000b00"), 100_000), 0), "takes more memory than its size allows"},
	} {
		var err error
		took := time.Duration(math.MaxInt64) // the least, since others run too
		spent := thrifttest.Allocated(func() {
			start := time.Now()
			err = thrifttest.Decode(tt.body, new(thrifttest.Bomb))
			took = min(took, time.Since(start))
		})
		allowed := 16*len(tt.body) + 64<<10 + 1<<10
		if strings.Contains(tt.why, "size") && strings.HasPrefix(tt.name, "2 G") || strings.Contains(tt.why, "deeply") {
			allowed = 64 << 10
			if took > 100*time.Millisecond {
				t.Errorf("%s: %v", tt.name, took)
			}
		}
		t.Logf("%s: %v, %d bytes", tt.name, took, spent)
		if spent > allowed {
			t.Errorf("%s: %d bytes of memory for %d; allowed are %d", tt.name, spent, len(tt.body), allowed)
		}
		var syntax *thrift.SyntaxError
		switch {
		case tt.why == "" && err == nil:
		case strconv.IntSize == 32 && strings.Contains(tt.why, "memory") && err == nil: // half the size fits
		case tt.why == "" || !errors.As(err, &syntax) || !strings.Contains(tt.why, syntax.Why):
			t.Errorf("%s: %v; want %q", tt.name, err, tt.why)
		}
	}
}

func TestDepthIsCounted(t *testing.T) {
	tree := func(n int) *thrifttest.Tree {
		root := &thrifttest.Tree{}
		for range n - 1 {
			root = &thrifttest.Tree{Next: root}
		}
		return root
	}
	for _, tt := range []struct {
		msg *thrifttest.Tree
		ok  bool
	}{
		{tree(64), true}, {tree(65), false},
		{&thrifttest.Tree{Children: []*thrifttest.Tree{tree(62)}}, true}, {&thrifttest.Tree{Children: []*thrifttest.Tree{tree(63)}}, false},
		{&thrifttest.Tree{Named: map[string]*thrifttest.Tree{"a": tree(62)}}, true}, {&thrifttest.Tree{Named: map[string]*thrifttest.Tree{"a": tree(63)}}, false},
		{&thrifttest.Tree{Either: &thrifttest.EitherTree{Tree: tree(62)}}, true}, {&thrifttest.Tree{Either: &thrifttest.EitherTree{Tree: tree(63)}}, false},
	} {
		var out buf.Out
		err := thrift.Binary{}.Append(&out, tt.msg)
		var typ *thrift.TypeError
		if (err == nil) != tt.ok || err != nil && (!errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal) {
			t.Errorf("encode: %v; want ok %v", err, tt.ok)
		}
		out.Reset()
		if err := (thrift.Binary{MaxDepth: 100}).Append(&out, tt.msg); err != nil {
			t.Fatal(err)
		}
		body := out.Bytes()
		if err := thrifttest.Decode(body, new(thrifttest.Tree)); (err == nil) != tt.ok {
			t.Errorf("decode: %v; want ok %v", err, tt.ok)
		}
		if _, err := raw.SkipStruct(body, 64); (err == nil) != tt.ok {
			t.Errorf("skip: %v; want ok %v", err, tt.ok)
		}
		if err := thrifttest.Decode(body, new(struct{})); (err == nil) != tt.ok {
			t.Errorf("skipped in decode: %v; want ok %v", err, tt.ok)
		}
		deep := rpc.Limits{Depth: 65}.WithDefaults()
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), new(thrifttest.Tree), deep); err != nil {
			t.Errorf("decode with more depth: %v", err)
		}
		out.Reset()
	}
}

// TestContainersAreLevels has each kind of container as the innermost level.
func TestContainersAreLevels(t *testing.T) {
	type Deep struct {
		Next    *Deep                                            `thrift:"next,1,optional"`
		Numbers []int32                                          `thrift:"numbers,2,optional"`
		Strings thrift.Set[string]                               `thrift:"strings,3,optional"`
		Lists   [][]byte                                         `thrift:"lists,4,optional"`
		Map     map[string]int32                                 `thrift:"map,5,optional"`
		Other   map[int8]bool                                    `thrift:"other,6,optional"`
		Pairs   thrift.Pairs[string, int8]                       `thrift:"pairs,7,optional"`
		Either  thrifttest.Either                                `thrift:"either,8,optional"`
		Leaves  []*thrifttest.Leaf                               `thrift:"leaves,9,optional"`
		Grid    [][]int64                                        `thrift:"grid,10,optional"`
		Inner   map[string]*thrifttest.Leaf                      `thrift:"inner,11,optional"`
		Couples thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf] `thrift:"couples,12,optional"`
	}
	lim := rpc.Limits{}.WithDefaults()
	for name, tt := range map[string]struct {
		inner  Deep
		levels int
	}{
		"numbers": {Deep{Numbers: []int32{1}}, 1}, "strings": {Deep{Strings: thrift.Set[string]{"a"}}, 1}, "lists": {Deep{Lists: [][]byte{{1}}}, 1},
		"map": {Deep{Map: map[string]int32{"a": 1}}, 1}, "other": {Deep{Other: map[int8]bool{1: true}}, 1},
		"pairs": {Deep{Pairs: thrift.Pairs[string, int8]{{Key: "a"}}}, 1}, "either": {Deep{Either: &thrifttest.EitherNumber{Number: 1}}, 1},
		"leaves": {Deep{Leaves: []*thrifttest.Leaf{{}}}, 2}, "grid": {Deep{Grid: [][]int64{{1}}}, 2}, "inner": {Deep{Inner: map[string]*thrifttest.Leaf{"a": {}}}, 2},
		"couples": {Deep{Couples: thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf]{{Key: &thrifttest.Leaf{}, Value: &thrifttest.Leaf{}}}}, 2},
	} {
		for _, over := range []int{0, 1} {
			msg := tt.inner
			for range 64 - tt.levels - 1 + over {
				msg = Deep{Next: new(msg)}
			}
			var out buf.Out
			if err := (thrift.Binary{}).Append(&out, &msg); (err == nil) != (over == 0) {
				t.Errorf("%s, %d over: encode: %v", name, over, err)
			}
			out.Reset()
			if err := (thrift.Binary{MaxDepth: 70}).Append(&out, &msg); err != nil {
				t.Fatal(err)
			}
			body := out.Bytes()
			out.Reset()
			if err := (thrift.Binary{}).Decode(buf.ViewOf(body), new(Deep), lim); (err == nil) != (over == 0) {
				t.Errorf("%s, %d over: decode: %v", name, over, err)
			}
			if _, err := raw.SkipStruct(body, 64); (err == nil) != (over == 0) {
				t.Errorf("%s, %d over: skip: %v", name, over, err)
			}
			s := raw.Skipper{}
			if done, _, err := s.Feed(body); done != (over == 0) || (err == nil) != (over == 0) {
				t.Errorf("%s, %d over: skipper: %v, %v", name, over, done, err)
			}
		}
	}
}

func TestWhatIsSkippedIsALevel(t *testing.T) {
	for _, in := range []string{
		"0c000c 0c0063 00 00 00",          // an unknown struct in a union
		"0c000b 0c0063 00 00 00",          // in a struct
		"0c000b 0f0063 08 00000000 00 00", // an unknown list
		"0c000c 0c0002 00 00 00",          // a variant of another type
		"0f0032 0c 00000001 00 00",        // a known list of structs
		"0f0033 0c 00000001 00 00",        // of unions
	} {
		for depth, ok := range map[int]bool{2: false, 3: true} {
			err := thrift.Binary{}.Decode(buf.ViewOf(thrifttest.Unhex(t, in)), new(thrifttest.Everything), rpc.Limits{Depth: depth}.WithDefaults())
			if (err == nil) != ok {
				t.Errorf("%s with depth %d: %v", in, depth, err)
			}
		}
	}
}

// TestOptionalScalarsAreCharged: each is an allocation of its own.
func TestOptionalScalarsAreCharged(t *testing.T) {
	body := append(bytes.Repeat([]byte{3, 0, 1, 5}, 100_000), 0)
	m := new(struct {
		A *int8 `thrift:"a,1,optional"`
	})
	err := thrift.Binary{}.Decode(buf.ViewOf(body), m, rpc.Limits{DecodeFactor: 1}.WithDefaults())
	if err == nil || !strings.Contains(err.Error(), "more memory") {
		t.Errorf("%v", err)
	}
	if err := thrifttest.Decode(body, m); err != nil || *m.A != 5 {
		t.Errorf("with the usual budget: %v", err)
	}
}

func TestCyclesEnd(t *testing.T) {
	next := &thrifttest.Tree{}
	next.Next = next
	twice := &thrifttest.Tree{}
	twice.Children = []*thrifttest.Tree{twice, twice}
	mapped := &thrifttest.Tree{}
	mapped.Named = map[string]*thrifttest.Tree{"a": mapped, "b": mapped}
	either := &thrifttest.EitherList{}
	either.List = []thrifttest.Either{either, either}
	type L []L
	loop := make(L, 1)
	loop[0] = loop
	for name, msg := range map[string]any{
		"pointer": next, "list": twice, "map": mapped, "union": &thrifttest.Tree{Either: either},
		"slice": &struct {
			L L `thrift:"l,1"`
		}{loop},
	} {
		var out buf.Out
		err := thrift.Binary{}.Append(&out, msg)
		if err == nil || !strings.Contains(err.Error(), "refers to itself") {
			t.Errorf("%s: %v", name, err)
		}
		if out.Len() > 1<<20 {
			t.Errorf("%s: %d bytes were written", name, out.Len())
		}
		out.Reset()
	}
}

func TestTypesThatCannotBeMapped(t *testing.T) {
	type inner struct {
		Bad chan int `thrift:"bad,1"`
	}
	for _, tt := range []struct {
		msg any
		why string
	}{
		{nil, "nil: a message is a pointer to a struct"},
		{thrifttest.Leaf{}, "thrifttest.Leaf: a message is a pointer to a struct"},
		{new(int), "*int: a message is a pointer to a struct"},
		{(*thrifttest.Leaf)(nil), "*thrifttest.Leaf: the message is nil"},
		{new(struct {
			A uint32 `thrift:"a,1"`
		}), ".A: the type uint32 has no Thrift type"},
		{new(struct {
			A int `thrift:"a,1"`
		}), ".A: the type int has no Thrift type"},
		{new(struct {
			A thrifttest.Leaf `thrift:"a,1"`
		}), ".A: a struct is referred to by a pointer: *thrifttest.Leaf"},
		{new(struct {
			A []*int32 `thrift:"a,1"`
		}), ".A: a pointer to int32 can only be a field"},
		{new(struct {
			A *[]int32 `thrift:"a,1"`
		}), ".A: the type *[]int32 has no Thrift type"},
		{new(struct {
			A map[*thrifttest.Leaf]bool `thrift:"a,1"`
		}), ".A: a map's key cannot be *thrifttest.Leaf: use thrift.Pairs"},
		{new(struct {
			A any `thrift:"a,1"`
		}), ".A: the interface interface {} is no union"},
		{new(struct {
			A error `thrift:"a,1"`
		}), ".A: the interface error is no union"},
		{new(struct {
			A [3]byte `thrift:"a,1"`
		}), ".A: the type [3]uint8 has no Thrift type"},
		{new(struct {
			A int32 `thrift:"a,1"`
			B int32 `thrift:"b,1"`
		}), ".B: id 1 is also that of A"},
		{new(struct {
			A int32 `thrift:"a"`
		}), `.A: the tag "a" is not`},
		{new(struct {
			A int32 `thrift:"a,40000"`
		}), `.A: the tag "a,40000" has no id between`},
		{new(struct {
			A int32 `thrift:"a,1,maybe"`
		}), `.A: the tag "a,1,maybe" says neither`},
		{new(struct {
			A []map[string]*inner `thrift:"a,1"`
		}), "inner.Bad: the type chan int has no Thrift type"},
		{new(struct {
			A twoFields `thrift:"a,1"`
		}), "a variant of the union plan_test.twoFields has exactly one field"},
		{new(struct {
			A sameIDs `thrift:"a,1"`
		}), "plan_test.sameIDs: two variants have the id 1"},
		{new(struct {
			A stranger `thrift:"a,1"`
		}), "has the variant *thrifttest.Leaf, which is no struct of it"},
	} {
		for range 2 { // a failed compile leaves nothing behind
			var typ *thrift.TypeError
			err := thrift.Binary{}.Append(new(buf.Out), tt.msg)
			if !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%T: %v; want %q", tt.msg, err, tt.why)
			}
			if err := thrifttest.Decode([]byte{0}, tt.msg); !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
				t.Errorf("decode %T: %v", tt.msg, err)
			}
		}
	}
}

type twoFields interface{ isUnion(*twoA) }
type twoA struct {
	A int32 `thrift:"a,1"`
	B int32 `thrift:"b,2"`
}

func (*twoA) isUnion(*twoA) {}

type sameIDs interface{ isUnion(*sameA, *sameB) }
type sameA struct {
	A int32 `thrift:"a,1"`
}
type sameB struct {
	B string `thrift:"b,1"`
}

func (*sameA) isUnion(*sameA, *sameB) {}
func (*sameB) isUnion(*sameA, *sameB) {}

type stranger interface{ isUnion(*thrifttest.Leaf) }

func TestValuesThatCannotBeEncoded(t *testing.T) {
	for _, tt := range []struct {
		msg any
		why string
	}{
		{&thrifttest.Tree{Children: []*thrifttest.Tree{nil}}, "*thrifttest.Tree: children[0] is nil"},
		{&thrifttest.Tree{Named: map[string]*thrifttest.Tree{"a": nil}}, `*thrifttest.Tree: named["a"] is nil`},
		{&thrifttest.Tree{Next: &thrifttest.Tree{Children: []*thrifttest.Tree{{}, nil}}}, "*thrifttest.Tree: next.children[1] is nil"},
		{&thrifttest.Tree{Either: &thrifttest.EitherList{List: []thrifttest.Either{nil}}}, "thrifttest.Either: either.list[0] is nil"},
		{&thrifttest.Tree{Either: &thrifttest.EitherTree{}}, "thrifttest.EitherTree.Tree: is nil"},
		{&thrifttest.Tree{Either: (*thrifttest.EitherText)(nil), Next: &thrifttest.Tree{Either: &thrifttest.EitherTree{}}}, "thrifttest.EitherTree.Tree: is nil"},
		{&struct {
			A thrifttest.Either `thrift:"a,1,required"`
		}{}, ".A: is required and nil"},
		{&struct {
			A *int32 `thrift:"a,1,required"`
		}{}, ".A: is required and nil"},
	} {
		if err := (thrift.Binary{}).Append(new(buf.Out), tt.msg); err == nil || rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%T: %v; want %q", tt.msg, err, tt.why)
		}
	}
}

// TestUnionFoundFromItsVariant compiles a plan that meets itself unfinished.
func TestUnionFoundFromItsVariant(t *testing.T) {
	if body := thrifttest.Encode(t, &selfA{&selfHolder{&selfB{[]self{&selfB{}}}}}); len(body) == 0 {
		t.Error("nothing")
	}
}

type self interface{ isUnion(*selfA, *selfB) }
type selfA struct {
	A *selfHolder `thrift:"a,1"`
}
type selfB struct {
	B []self `thrift:"b,2"`
}
type selfHolder struct {
	U self `thrift:"u,1"`
}

func (*selfA) isUnion(*selfA, *selfB) {}
func (*selfB) isUnion(*selfA, *selfB) {}

// TestPlansAreSharedByGoroutines lets many meet the same new types at once.
func TestPlansAreSharedByGoroutines(t *testing.T) {
	types := make([]reflect.Type, 100)
	for i := range types {
		types[i] = reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[[]*thrifttest.Tree](), Tag: reflect.StructTag(`thrift:"a,1"`)},
			{Name: "B", Type: reflect.ArrayOf(i, reflect.TypeFor[byte]())},
		})
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, rt := range types {
				v := reflect.New(rt)
				v.Elem().Field(0).Set(reflect.ValueOf([]*thrifttest.Tree{{Value: 5}}))
				var out buf.Out
				if err := (thrift.Binary{}).Append(&out, v.Interface()); err != nil {
					t.Error(err)
				}
				back := reflect.New(rt)
				if err := thrifttest.Decode(out.Bytes(), back.Interface()); err != nil || back.Elem().Field(0).Index(0).Elem().Field(0).Int() != 5 {
					t.Error(back, err)
				}
				out.Reset()
			}
		})
	}
	wg.Wait()
}

func TestAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("debugging builds allocate a record for every block")
	}
	echo := &thrifttest.Echo{ID: 7, Text: strings.Repeat("x", 1024), Numbers: []int64{1, 2, 3, 4, 5}}
	body := thrifttest.Encode(t, echo)
	view, lim := buf.ViewOf(body), rpc.Limits{}.WithDefaults()
	if n := testing.AllocsPerRun(100, func() {
		if err := (thrift.Binary{}).Decode(view, new(thrifttest.Echo), lim); err != nil {
			t.Fatal(err)
		}
	}); n > 3 { // the message, its string, its list
		t.Errorf("decode: %v allocations", n)
	}
	var out buf.Out
	out.AppendString("held")
	for name, msg := range thrifttest.Shapes() {
		if name == "numbers" {
			continue // its pieces are more than an Out keeps
		}
		if n := testing.AllocsPerRun(100, func() {
			m := out.Mark()
			if err := (thrift.Binary{}).Append(&out, msg); err != nil {
				t.Fatal(err)
			}
			out.Truncate(m)
		}); n > 0.5 {
			t.Errorf("encode %s: %v allocations", name, n)
		}
	}
}

// TestLongValuesCrossBlocks has values of every size around the ends of blocks.
func TestLongValuesCrossBlocks(t *testing.T) {
	type M struct {
		S string             `thrift:"s,1"`
		B []byte             `thrift:"b,2"`
		N []int64            `thrift:"n,3"`
		H []int16            `thrift:"h,4"`
		O []bool             `thrift:"o,5"`
		T []string           `thrift:"t,6"`
		L []*thrifttest.Leaf `thrift:"l,7"`
		M map[int64]string   `thrift:"m,8"`
	}
	for _, n := range []int{0, 1, 100, 400, 500, 511, 512, 1000, 3000, 3900, 4000, 4095, 4096, 5000, 8191, 8192, 10_000, 16_384, 65_536, 200_000} {
		m := &M{S: strings.Repeat("s", n), B: bytes.Repeat([]byte{1}, n), N: make([]int64, n/8), H: make([]int16, n/2), O: make([]bool, n), T: []string{}, L: []*thrifttest.Leaf{}, M: map[int64]string{}}
		for i := range n / 16 {
			m.N[i], m.T, m.L, m.M[int64(i)] = int64(i), append(m.T, strings.Repeat("t", i%50)), append(m.L, &thrifttest.Leaf{ID: int64(i), Name: "name"}), "value"
		}
		got := new(M)
		if err := thrifttest.Decode(thrifttest.Encode(t, m), got); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%d: %v", n, err)
		}
	}
}
