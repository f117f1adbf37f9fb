package protobuf_test

import (
	"bytes"
	"errors"
	"math/bits"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

// field gives a field with its tag and length.
func field(number int, value ...byte) []byte {
	b := raw.Append(nil, uint64(raw.Tag(number, raw.Bytes)))
	return append(raw.Append(b, uint64(len(value))), value...)
}

// TestSmallMessagesCannotCostMuch gives the decoder messages that declare or pack more than they are
// worth.
func TestSmallMessagesCannotCostMuch(t *testing.T) {
	const n = 1 << 20
	deep := []byte(nil)
	for range 65 {
		deep = field(18, deep...)
	}
	leaves := "takes more memory"
	if bits.UintSize == 32 {
		leaves = "" // its strings and slices are half as large
	}
	tests := []struct {
		name string
		body []byte
		why  string // "": it is taken
	}{
		{"65 levels and one", deep, "nested too deeply in All.self"},
		{"two million levels", bytes.Repeat([]byte("\x92\x01\xff\xff\x7f"), 2_000_000), "length beyond the end"},
		{"two million unknown groups", bytes.Repeat([]byte("\x9b\x3f"), 2_000_000), "nested too deeply"},
		{"a string of 16 EB", []byte("\x72\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "length beyond the end in All.st"},
		{"a packed list of 16 EB", []byte("\xaa\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "length beyond the end in All.li32"},
		{"a million messages", bytes.Repeat([]byte("\xb2\x02\x00"), n), "takes more memory"},
		{"a million leaves", bytes.Repeat([]byte("\xaa\x02\x00"), n), leaves},
		{"a million entries", bytes.Repeat([]byte("\xf2\x03\x00"), n), "takes more memory"},
		{"a oneof a million times", bytes.Repeat([]byte("\x9a\x7d\x00\x92\x7d\x00"), n/2), "takes more memory"},
		{"a message a million times", bytes.Repeat([]byte("\x92\x01\x00"), n), ""},
		{"a million numbers", field(22, make([]byte, n)...), ""},
		{"a million numbers, not packed", bytes.Repeat([]byte("\xb8\x02\x01"), n), ""},
		{"a million pieces of lists", bytes.Repeat([]byte("\xb2\x01\x01\x05\x08\x07"), n), ""},
		{"a million unknown fields", bytes.Repeat([]byte("\x98\x06\x01"), n), ""},
		{"a million numbers of eight bytes", field(24, make([]byte, 8*n)...), ""},
		{"a number that is too long", []byte("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "number of more than 64 bits in All.i32"},
		{"a string that is none", []byte("\x72\x02\xc3\x28"), "string that is not UTF-8 in All.st"},
		{"a long string that is none", append([]byte("\x72\x80\x01"), bytes.Repeat([]byte{0xff}, 128)...), "string that is not UTF-8 in All.st"},
		{"a key that is none", field(61, field(1, 0xff)...), "string that is not UTF-8 in All.mss"},
		{"an element that is none", []byte("\x92\x02\x01\x61\x92\x02\x01\xff"), "string that is not UTF-8 in All.lst"},
		{"a packed number cut off", field(21, 0x80), "truncated in All.li32"},
		{"a packed double cut off", field(32, 1, 2, 3), "truncated in All.ldb"},
		{"field 0", []byte{0, 0}, "field number 0"},
		{"wire type 7", []byte{15, 0}, "unknown wire type"},
		{"an end without a begin", []byte{12}, "end of a group that did not begin"},
		{"a group without end", []byte{11, 8, 1}, "group without its end"},
	}
	lim := rpc.Limits{}.WithDefaults()
	if err := (protobuf.Codec{}).Decode(buf.View{}, new(prototest.All), lim); err != nil { // the plan is made once, and not counted
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := protobuf.Codec{}.Decode(buf.ViewOf(tt.body), new(prototest.All), lim)
			runtime.ReadMemStats(&after)
			if took, most := after.TotalAlloc-before.TotalAlloc, uint64(lim.DecodeBudget(len(tt.body)))*5/4+64<<10; took > most {
				t.Errorf("a message of %d bytes took %d bytes of memory, at most %d are due", len(tt.body), took, most)
			}
			if tt.why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var syntax *protobuf.SyntaxError
			if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || !strings.Contains(syntax.Error(), tt.why) || syntax.Offset > len(tt.body) {
				t.Errorf("%v, want %q", err, tt.why)
			}
		})
	}
}

// A tree is a small message within itself.
type tree struct {
	Next *tree  `proto:"1,message"`
	Text string `proto:"2,string"`
}

// TestDepth holds both directions against the limit: 100 levels by default, as many as are set.
func TestDepth(t *testing.T) {
	chain := func(n int) *tree {
		m := new(tree)
		for range n - 1 {
			m = &tree{Next: m}
		}
		return m
	}
	b, err := protobuf.Marshal(chain(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := protobuf.Unmarshal(b, new(tree)); err != nil {
		t.Error(err)
	}
	if err := (protobuf.Codec{}).Decode(buf.ViewOf(b), new(tree), rpc.Limits{Depth: 99}.WithDefaults()); err == nil {
		t.Error("100 levels were taken where 99 are the limit")
	}
	var typ *protobuf.TypeError
	if _, err := protobuf.Marshal(chain(101)); !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("101 levels: %v", err)
	}
	if _, err := (protobuf.Codec{MaxDepth: 1000}).AppendBytes(nil, chain(1000)); err != nil {
		t.Error(err)
	}
	ring := chain(3)
	ring.Next.Next.Next = ring
	if _, err := protobuf.Marshal(ring); !errors.As(err, &typ) || !strings.Contains(err.Error(), "refers to itself") {
		t.Errorf("a ring: %v", err)
	}
	ring.Text = strings.Repeat("long", 10_000) // so that it is measured
	if _, err := protobuf.Marshal(&tree{Next: ring}); !errors.As(err, &typ) {
		t.Errorf("a long ring: %v", err)
	}
}

// TestRequired decodes messages that lack required fields, in all the ways in which these may still come.
func TestRequired(t *testing.T) {
	whole := append([]byte("\x08\x01"), "\xfa\xff\xff\xff\x0f\x01a"...)
	part := func(s string) []byte { return field(8, []byte(s)...) } // of next
	for _, tt := range []struct {
		name string
		b    []byte
		why  string
	}{
		{"whole", whole, ""},
		{"nothing", nil, "Old.id at offset 0"},
		{"no last", []byte("\x08\x01"), "Old.last at offset 2"},
		{"a part without", append(part("\x08\x01"), whole...), "Old.last"},
		{"in two parts", append(append(part("\x08\x01"), part("\xfa\xff\xff\xff\x0f\x01a")...), whole...), ""},
		{"whole, then a part", append(append(part(string(whole)), part("\x08\x05")...), whole...), ""},
		{"a group without", append([]byte("\x33\x08\x01\x34"), whole...), "OldPart.live"},
		{"a group in two parts", append([]byte("\x33\x18\x01\x34\x33\x08\x01\x34"), whole...), ""},
		{"an entry without a value", append(field(10, field(1, 'k')...), whole...), "Needs.value"},
		{"an entry that is replaced", append(append(field(10, field(1, 'k')...), field(10, append(field(1, 'k'), field(2, needs(whole)...)...)...)...), whole...), ""},
	} {
		msg := new(prototest.Old)
		err := protobuf.Unmarshal(tt.b, msg)
		if tt.why == "" && err != nil || tt.why != "" && (err == nil || !strings.Contains(err.Error(), "required field is missing in "+tt.why)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.why)
		}
	}
	var typ *protobuf.TypeError
	if _, err := protobuf.Marshal(new(prototest.Old)); !errors.As(err, &typ) || typ.Field != "ID" || typ.Why != "is required and nil" {
		t.Error(err)
	}
	id, last := int32(1), "x"
	if _, err := protobuf.Marshal(&prototest.Old{ID: &id, Last: &last, Needs: []*prototest.Needs{{}}}); !errors.As(err, &typ) || typ.Field != "Value" {
		t.Error(err)
	}
}

// needs is a whole message of that type.
func needs(old []byte) []byte {
	return append(append([]byte("\x09\x00\x00\x00\x00\x00\x00\x00\x00\x12\x00\x1a"), byte(len(old))), old...)
}

func TestCodecAllocations(t *testing.T) {
	msg := &prototest.All{I32: 1, St: "text", Leaf: &prototest.Leaf{ID: 1}, Li64: []int64{1, 2, 300}, Mss: map[string]string{"a": "b"}, Mil: map[int32]*prototest.Leaf{1: {ID: 1}},
		Either: &prototest.EitherText{Value: "x"}, Lleaf: []*prototest.Leaf{{Name: "n"}}}
	var out buf.Out
	out.AppendString("held")
	if n := testing.AllocsPerRun(100, func() {
		m := out.Mark()
		if err := (protobuf.Codec{}).Append(&out, msg); err != nil {
			t.Fatal(err)
		}
		out.Truncate(m)
	}); n > 0 {
		t.Errorf("encoding takes %v allocations", n)
	}
	b, err := protobuf.Marshal(&prototest.All{St: "text", I64: 1 << 40, Li64: []int64{1, 2, 300}})
	if err != nil {
		t.Fatal(err)
	}
	back, view, lim := new(prototest.All), buf.ViewOf(b), rpc.Limits{}.WithDefaults()
	if n := testing.AllocsPerRun(100, func() {
		if err := (protobuf.Codec{}).Decode(view, back, lim); err != nil {
			t.Fatal(err)
		}
	}); n > 2 {
		t.Errorf("decoding takes %v allocations, a string and a list are due", n)
	}
}
