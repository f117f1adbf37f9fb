package protobuf_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/pb"
	"github.com/limosa-rpc/limosa/protobuf"
)

// TestMessagesAcrossBlocks encodes messages whose inner ones do not stay in a block, from every kind
// of place in one.
func TestMessagesAcrossBlocks(t *testing.T) {
	sizes := []int{0, 1, 120, 126, 127, 128, 3000, 4000, 8100, 8192, 16300, 16384, 70_000, 200_000}
	for _, n := range sizes {
		text := strings.Repeat("t", n)
		numbers := make([]int64, n/8)
		for i := range numbers {
			numbers[i] = int64(i) << (i % 50)
		}
		leaf := &prototest.Leaf{ID: int64(n), Name: text}
		leaves := make([]*prototest.Leaf, 1+n/100)
		for i := range leaves {
			leaves[i] = &prototest.Leaf{ID: int64(i), Name: text[:min(n, i)]}
		}
		for name, msg := range map[string]*prototest.All{
			"text":           {St: text},
			"bytes":          {By: []byte(text)},
			"leaf":           {Leaf: leaf, I32: 7},
			"leaf in leaf":   {Self: &prototest.All{Self: &prototest.All{Leaf: leaf, I32: 5}, St: "x"}, I32: 7},
			"leaves":         {Lleaf: leaves},
			"inner leaves":   {Self: &prototest.All{I64: 1, Lleaf: leaves}, Lst: []string{text, "a", text}},
			"bytes inside":   {Self: &prototest.All{Self: &prototest.All{By: []byte(text)}, Lby: [][]byte{[]byte(text), nil, []byte(text)}}},
			"packed":         {Li64: numbers, Ls64: numbers},
			"packed inside":  {Self: &prototest.All{Li64: numbers, Ls64: numbers, Lsf64: numbers, Lbl: make([]bool, n), Loose: numbers}},
			"in maps":        {Msl: map[string]*prototest.Leaf{text: leaf, "b": {}, "c": leaf}, Mss: map[string]string{text: text, "a": "b"}},
			"maps inside":    {Self: &prototest.All{Mxa: map[int64]*prototest.All{1: {Lleaf: leaves, Self: &prototest.All{Lleaf: leaves}}, 2: {St: text}}, Lleaf: leaves[:1]}, Lleaf: leaves[:1]},
			"maps in maps":   {Mxa: map[int64]*prototest.All{1: {Mxa: map[int64]*prototest.All{7: {Lleaf: leaves}}, Lleaf: leaves}, 3: {Msy: map[string][]byte{text: []byte(text)}}}},
			"in a oneof":     {Self: &prototest.All{Either: &prototest.EitherAll{Value: &prototest.All{Lleaf: leaves}}, Many: &prototest.ManyM9{Value: leaf}}},
			"many of a size": {Lleaf: []*prototest.Leaf{leaf, leaf, {}, leaf, leaf, leaf, {}}, Lself: []*prototest.All{{Leaf: leaf}, {Lleaf: leaves}, {Leaf: leaf}}},
		} {
			want, err := ordered.AppendBytes(nil, msg)
			their := new(pb.All)
			if err == nil {
				err = proto.Unmarshal(want, their)
			}
			if err != nil {
				t.Fatalf("%s of %d: %v", name, n, err)
			}
			if theirs, err := official.Marshal(their); err != nil || !bytes.Equal(theirs, want) {
				t.Fatalf("%s of %d: the official run time makes other bytes, %v", name, n, err)
			}
			back := new(prototest.All)
			if err := protobuf.Unmarshal(want, back); err != nil || !protobuf.Equal(back, msg) {
				t.Fatalf("%s of %d: came back otherwise, %v", name, n, err)
			}
			loose, err := protobuf.Marshal(msg)
			if again := new(prototest.All); err != nil || len(loose) != len(want) || protobuf.Unmarshal(loose, again) != nil || !protobuf.Equal(again, msg) {
				t.Fatalf("%s of %d: without an order it comes back otherwise, %v", name, n, err)
			}
			for _, before := range []int{1, 511, 2000, 3500, 3900, 4000, 4064, 4090, 4095, 4096, 20_000} {
				var out buf.Out
				out.AppendString(strings.Repeat(".", before))
				if err := ordered.Append(&out, msg); err != nil {
					t.Fatal(err)
				}
				if got := out.Bytes()[before:]; !bytes.Equal(got, want) {
					t.Fatalf("%s of %d behind %d bytes: other bytes", name, n, before)
				}
				out.Reset()
			}
		}
	}
}

// TestGroupsAcrossBlocks does the same for groups.
func TestGroupsAcrossBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	id, last, live := int32(1), "last", true
	for range 60 {
		msg := &prototest.Old{ID: &id, Last: &last, Part: &prototest.OldPart{Live: &live}}
		for range r.IntN(60) {
			name := strings.Repeat("n", r.IntN(300))
			msg.Part.Inner = append(msg.Part.Inner, &prototest.OldPartInner{Name: &name})
			msg.Parts = append(msg.Parts, &prototest.OldParts{})
			msg.Tight, msg.Loose = append(msg.Tight, -id), append(msg.Loose, r.Int32())
		}
		msg = &prototest.Old{ID: &id, Last: &last, Next: msg, Data: make([]byte, r.IntN(9000))}
		got, err := protobuf.Marshal(msg)
		their := new(pb.Old)
		if err == nil {
			err = proto.Unmarshal(got, their)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want, err := official.Marshal(their); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes: %v", err)
		}
	}
}

// TestEveryPrefix decodes every beginning of messages, and messages with a byte changed.
func TestEveryPrefix(t *testing.T) {
	for _, p := range pairs() {
		for seed := range uint64(8) {
			r := prototest.NewFiller(seed)
			r.Depth, r.Many = 1, 2
			msg := p.ours()
			r.Message(msg)
			b, err := protobuf.Marshal(msg)
			if err != nil {
				t.Fatal(err)
			}
			for i := range min(len(b), 1000) {
				sameVerdict(t, p, b[:i:i])
				wrong := bytes.Clone(b[:min(len(b), i+200)])
				wrong[i] ^= 1 << r.IntN(8)
				sameVerdict(t, p, wrong)
			}
		}
	}
}

func sameVerdict(t *testing.T, p pair, b []byte) {
	t.Helper()
	err, bad := protobuf.Codec{}.Decode(buf.ViewOf(b), p.ours(), deep), proto.Unmarshal(b, p.their())
	if (err == nil) != (bad == nil) && !strings.Contains(fmt.Sprint(err), "field number") {
		t.Fatalf("%s %x: %v, the official run time says %v", p.name, b, err, bad)
	}
}
