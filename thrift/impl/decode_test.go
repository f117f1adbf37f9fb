package impl_test

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

// begin makes a decoder of b that may take budget.
func begin(d *impl.Decoder, b []byte, budget codec.Budget) []byte {
	_, rest, _ := d.Begin(impl.Input{B: string(b), Frame: new(codec.Frame), Budget: budget}, 10)
	return rest
}

// A list that has the header that is expected is read; anything else is left to the plan,
// which gets the same bytes, and the budget that it would have had.
func TestListsThatAreNotAsExpected(t *testing.T) {
	numbers := []byte{15, 0, 3, 8, 0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0}
	change := func(i int, v byte) []byte {
		b := bytes.Clone(numbers)
		b[i] = v
		return b
	}
	for name, c := range map[string]struct {
		b      []byte
		budget codec.Budget
		ok     bool
		want   []int32
	}{
		"as expected":        {numbers, 100, true, []int32{1, -1}},
		"none":               {[]byte{15, 0, 3, 8, 0, 0, 0, 0}, 0, true, []int32{}},
		"none of any type":   {[]byte{15, 0, 3, 0, 0, 0, 0, 0}, 0, true, []int32{}},
		"another id":         {change(2, 4), 100, false, nil},
		"another type":       {change(0, 14), 100, false, nil},
		"other elements":     {change(3, 10), 100, false, nil},
		"more than there is": {change(7, 4), 100, false, nil},
		"a negative number":  {change(4, 0x80), 100, false, nil},
		"too costly":         {numbers, 7, false, nil},
		"cut off":            {numbers[:7], 100, false, nil},
		"nothing":            {nil, 100, false, nil},
	} {
		var d impl.Decoder
		b := begin(&d, c.b, c.budget)
		var got []int32
		rest, ok := impl.ReadNumbers(&d, &got, b, 15, 3, 8)
		if ok != c.ok || !reflect.DeepEqual(got, c.want) || !ok && len(rest) != len(b) {
			t.Errorf("%s: %v, %v with %d bytes left of %d", name, got, ok, len(rest), len(b))
		}
	}
}

// Numbers of every size, as many as fit in a word of the machine or not, come out as they
// went in.
func TestNumbersRoundTrip(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 9, 1000} {
		x := &lists{}
		for i := range n {
			x.I16 = append(x.I16, int16(i*-7))
			x.I64 = append(x.I64, math.MinInt64+int64(i))
			x.Doubles = append(x.Doubles, math.Inf(-i%2-1))
			x.Strings = append(x.Strings, strings.Repeat("a", i%70))
		}
		x.Texts = map[string]string{"": "empty", strings.Repeat("k", n): ""}
		var d impl.Decoder
		b := begin(&d, thrifttest.Encode(t, x), codec.Unlimited)
		got := &lists{}
		var all []bool
		read := func(rest []byte, ok bool) {
			b, all = rest, append(all, ok)
		}
		read(impl.ReadNumbers(&d, &got.I16, b, 15, 1, 6))
		read(impl.ReadNumbers(&d, &got.I32, b, 15, 2, 8))
		read(impl.ReadNumbers(&d, &got.I64, b, 15, 3, 10))
		read(impl.ReadNumbers(&d, &got.Doubles, b, 15, 4, 4))
		read(impl.ReadStrings(&d, &got.Strings, b, 15, 5))
		read(d.StringMap(&got.Texts, b, 6))
		if slices.Contains(all, false) || !slices.Equal(got.I16, x.I16) || !slices.Equal(got.I64, x.I64) || got.I32 == nil ||
			!slices.Equal(got.Doubles, x.Doubles) || !slices.Equal(got.Strings, x.Strings) || !reflect.DeepEqual(got.Texts, x.Texts) {
			t.Errorf("%d: %v, %+v", n, all, got)
		}
	}
}

// Strings and maps that are wrong somewhere within leave the budget as it was: the plan
// counts all of the field once more.
func TestFaultsGiveTheBudgetBack(t *testing.T) {
	list := []byte{15, 0, 5, 11, 0, 0, 0, 2, 0, 0, 0, 1, 'a', 0, 0, 0, 9, 'b'}
	maps := []byte{13, 0, 6, 11, 11, 0, 0, 0, 1, 0, 0, 0, 1, 'k', 0, 0, 0, 9, 'v'}
	const budget = 10_000
	var d impl.Decoder
	var texts []string
	if rest, ok := impl.ReadStrings(&d, &texts, begin(&d, list, budget), 15, 5); ok || len(rest) != len(list) || texts != nil {
		t.Errorf("a string that is cut off: %v, %q", ok, texts)
	}
	if r := d.End(nil); r.Budget != budget {
		t.Errorf("the list has taken %d", budget-r.Budget)
	}
	var m map[string]string
	if rest, ok := d.StringMap(&m, begin(&d, maps, budget), 6); ok || len(rest) != len(maps) {
		t.Errorf("a value that is cut off: %v, %q", ok, m)
	}
	if r := d.End(nil); r.Budget != budget {
		t.Errorf("the map has taken %d", budget-r.Budget)
	}
	for name, b := range map[string][]byte{"keys that are numbers": {13, 0, 6, 8, 11, 0, 0, 0, 1}, "more than there is": {13, 0, 6, 11, 11, 0x7f, 0, 0, 0}, "short": {13, 0, 6, 11}} {
		if _, ok := d.StringMap(&m, begin(&d, b, budget), 6); ok {
			t.Errorf("%s: taken", name)
		}
	}
}

// Optional reads the sizes that scalars have, and takes their memory.
func TestOptional(t *testing.T) {
	field := []byte{3, 0, 1, 0xff, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	var d impl.Decoder
	var (
		i8   *int8
		i16  *int16
		i32  *int32
		i64  *int64
		flag *bool
		id   *[16]byte
	)
	b := func() []byte { return begin(&d, field, 1000) }
	left := []int{
		len(impl.Optional(&d, &i8, b())), len(impl.Optional(&d, &i16, b())), len(impl.Optional(&d, &i32, b())),
		len(impl.Optional(&d, &i64, b())), len(impl.Optional(&d, &id, b())),
	}
	if *i8 != -1 || *i16 != -254 || *i32 != -16645372 || *i64 != -71491328285473016 || id[15] != 16 || !slices.Equal(left, []int{15, 14, 12, 8, 0}) {
		t.Errorf("%d %d %d %d %v, left %v", *i8, *i16, *i32, *i64, id, left)
	}
	// Only 1 is true: other languages take any other byte for true, see docs/how/lazy.md.
	if impl.Optional(&d, &flag, b()); *flag {
		t.Error("0xff is true")
	}
	if impl.Optional(&d, &flag, begin(&d, []byte{2, 0, 1, 1}, 1000)); !*flag {
		t.Error("1 is false")
	}
	i64 = nil
	if rest := impl.Optional(&d, &i64, begin(&d, field, 7)); rest != nil || i64 != nil {
		t.Error("more memory is taken than there is")
	}
	if _, f := d.End(nil).End(); f != raw.TooCostly {
		t.Errorf("the fault is %v", f.Why())
	}
	var text *string
	if rest := d.OptionalString(&text, begin(&d, []byte{11, 0, 1, 0, 0, 0, 2, 'h', 'i', 0}, 1000)); *text != "hi" || len(rest) != 1 {
		t.Errorf("%q, %d left", *text, len(rest))
	}
	if rest := d.OptionalString(&text, begin(&d, []byte{11, 0, 1, 0, 0, 0, 3, 'h', 'i'}, 1000)); rest != nil {
		t.Error("a string goes beyond the message")
	}
}

// A header is compared as a whole: type and both bytes of the id, and never the byte behind.
func TestMiss(t *testing.T) {
	for _, next := range []byte{0, 1, 0x80, 0xff} {
		p := []byte{11, 0x12, 0x34, next}
		if impl.Miss(p, 11, 0x1234) != 0 || !impl.Has(p, 4, 11, 0x1234) {
			t.Errorf("the header before %x is not found", next)
		}
		if impl.Miss(p, 10, 0x1234) == 0 || impl.Miss(p, 11, 0x3412) == 0 || impl.Miss(p, 11, 0x1235) == 0 || impl.Miss(p, 11, 0x0234) == 0 {
			t.Errorf("another header before %x is found", next)
		}
		if impl.Has(p, 5, 11, 0x1234) {
			t.Error("bytes are found that are not there")
		}
	}
}

// A slab gives each struct once, several of one allocation, and none beyond the budget.
func TestSlab(t *testing.T) {
	var d impl.Decoder
	begin(&d, nil, 1000*8)
	var s impl.Slab[Made]
	seen := map[*Made]bool{}
	for x := s.Next(&d, 1000); x != nil; x = s.Next(&d, 1000) {
		if seen[x] || x.ID != 0 || len(seen) > 1000 {
			t.Fatalf("struct %d: %p holds %d", len(seen), x, x.ID)
		}
		seen[x], x.ID = true, 7
	}
	if len(seen) < 500 { // the last slab has to fit as a whole
		t.Errorf("a budget of 1,000 words is gone after %d structs", len(seen))
	}
	left := d.End(nil).Budget
	for left >= 8 && impl.New[Made](&d) != nil {
		left = d.End(nil).Budget
	}
	if impl.New[Made](&d) != nil {
		t.Error("New goes beyond the budget")
	}
}
