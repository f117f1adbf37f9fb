package impl_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

// lists is what the encoder's functions for lists write, one at a time.
type lists struct {
	I16     []int16           `thrift:"i16,1"`
	I32     []int32           `thrift:"i32,2"`
	I64     []int64           `thrift:"i64,3"`
	Doubles []float64         `thrift:"doubles,4"`
	Strings []string          `thrift:"strings,5"`
	Texts   map[string]string `thrift:"texts,6"`
	Text    string            `thrift:"text,7"`
	Raw     []byte            `thrift:"raw,8"`
}

// byFunctions writes x as generated code would, a header and a value at a time.
func (x *lists) byFunctions(e *impl.Encoder, b []byte) []byte {
	b = impl.Numbers(e, append(b, 15, 0, 1, 6), x.I16)
	b = impl.Numbers(e, append(b, 15, 0, 2, 8), x.I32)
	b = impl.Numbers(e, append(b, 15, 0, 3, 10), x.I64)
	b = impl.Numbers(e, append(b, 15, 0, 4, 4), x.Doubles)
	b = e.Strings(append(b, 15, 0, 5, 11), x.Strings)
	b = e.StringMap(append(b, 13, 0, 6, 11, 11), x.Texts)
	b = e.String(append(b, 11, 0, 7), x.Text)
	b = e.Bytes(append(b, 11, 0, 8), x.Raw)
	return append(b, 0)
}

// What the functions write is what the plan writes, whether it has room in the block, ends
// just at its end, or goes over several blocks or by reference.
func TestEncodersWriteWhatPlansWrite(t *testing.T) {
	sizes := []int{0, 1, 2, 3, 31, 100, buf.RefMin/8 - 1, buf.RefMin / 8, buf.RefMin - 200, buf.RefMin, buf.RefMin + 1, 20_000, 70_000}
	for _, n := range sizes {
		x := &lists{
			I16: make([]int16, n), I32: make([]int32, n), I64: make([]int64, n), Doubles: make([]float64, n), Strings: make([]string, n/10),
			Texts: map[string]string{}, Text: strings.Repeat("é", n/2), Raw: bytes.Repeat([]byte{0xff}, n),
		}
		for i := range n {
			x.I16[i], x.I32[i], x.I64[i], x.Doubles[i] = int16(-i), int32(i)<<13, int64(i)<<40, float64(i)/3
		}
		for i := range x.Strings {
			x.Strings[i] = strings.Repeat("s", i%40)
		}
		if n > 0 {
			x.Texts[strings.Repeat("k", n/3)] = strings.Repeat("v", n/5) // one: the order of more is not told
		}
		want := thrifttest.Encode(t, x)
		for _, held := range []int{0, 1, 100, 1000} { // what is in the block before
			var out buf.Out
			out.Append(make([]byte, held))
			var s impl.Encoder
			e, b := s.Open(impl.Output{Out: &out}, out.Block())
			if cap(b)-len(b) < impl.Room {
				t.Fatalf("Open leaves %d bytes of room", cap(b)-len(b))
			}
			b, err := e.End(x.byFunctions(e, b))
			out.Commit(b)
			if got := out.Bytes()[held:]; err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d elements behind %d bytes: %d bytes, %v; want %d", n, held, len(got), err, len(want))
			}
			out.Reset()
		}
	}
}

// The first error counts, and nothing is written after it: Least keeps generated code from
// going further in, and sends it to Plan, which does nothing.
func TestEncoderKeepsTheFirstError(t *testing.T) {
	var out buf.Out
	defer out.Reset()
	var s impl.Encoder
	e, b, depth := s.Begin(impl.Output{Out: &out}, out.Block(), 5)
	if depth != 5 || depth <= e.Least {
		t.Fatalf("depth %d, and Least is %d", depth, e.Least)
	}
	b = e.Plan(b, &Made{ID: 1}, depth)
	n := len(b)
	b = e.Plan(b, (*Made)(nil), depth)
	if depth > e.Least {
		t.Errorf("after a failure Least is %d", e.Least)
	}
	b = e.Plan(b, &Made{ID: 2}, depth)
	b = e.Fields(b, &Made{ID: 3}, depth, 0, 1)
	b = e.Plan(b, 7, depth) // no struct: another error
	b, err := e.End(b)
	var typ *plan.TypeError
	if !errors.As(err, &typ) || typ.Type.String() != "*impl_test.Made" || len(b) != n {
		t.Errorf("%v, %d bytes; want %d", err, len(b), n)
	}
	out.Commit(b)
	for name, x := range map[string]any{"no struct": new(int), "a map as a key": &struct {
		M map[[2]string]int32 `thrift:"m,1"`
	}{}} {
		var s impl.Encoder
		var out buf.Out
		e, b, depth := s.Begin(impl.Output{Out: &out}, out.Block(), 5)
		b, err := e.End(e.Plan(b, x, depth))
		if !errors.As(err, &typ) {
			t.Errorf("%s: %v", name, err)
		}
		out.Commit(b)
		out.Reset()
	}
	var deep impl.Encoder
	e, b, _ = deep.Begin(impl.Output{Out: &out}, out.Block(), 1)
	if b, err = e.End(e.Plan(b, thrifttest.Shapes()["small"], 0)); err == nil {
		t.Error("a struct below the depth is encoded")
	}
	out.Commit(b)
}

// A result holds one if its first word does, whatever type it is of.
func TestNoResult(t *testing.T) {
	n := int32(0)
	for name, c := range map[string]struct {
		result any
		none   bool
	}{
		"scalar":            {&struct{ Success *int32 }{&n}, false},
		"no scalar":         {&struct{ Success *int32 }{}, true},
		"empty list":        {&struct{ Success []string }{[]string{}}, false},
		"nil list":          {&struct{ Success []string }{}, true},
		"nil map":           {&struct{ Success map[int32]string }{}, true},
		"map":               {&struct{ Success map[int32]string }{map[int32]string{}}, false},
		"union":             {&struct{ Success error }{errors.New("x")}, false},
		"unset union":       {&struct{ Success error }{}, true},
		"only an exception": {&struct{ Success, Missing *int32 }{nil, &n}, true},
	} {
		err := impl.NoResult(c.result)
		if (err != nil) != c.none || c.none && (rpc.CodeOf(err) != rpc.Internal || !strings.Contains(err.Error(), "no result")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if impl.Bool(true) != 1 || impl.Bool(false) != 0 {
		t.Error("Bool")
	}
}
