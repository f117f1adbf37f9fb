package plan_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// fieldsOf cuts a struct of Binary into its fields, without the stop.
func fieldsOf(t *testing.T, body []byte) (fields [][]byte) {
	t.Helper()
	for o := 0; body[o] != byte(raw.TypeStop); {
		end, f := raw.SkipAt(body, o+3, raw.Type(body[o]), 64)
		if f != raw.Fine {
			t.Fatalf("offset %d: %s", o, f.Why())
		}
		fields = append(fields, body[o:end:end])
		o = end
	}
	return fields
}

// joined puts fields together again.
func joined(fields [][]byte) (body []byte) {
	for _, f := range fields {
		body = append(body, f...)
	}
	return append(body, byte(raw.TypeStop))
}

// TestFieldsInAnyOrder: the order of the plan is a guess that makes decoding fast, and
// nothing depends on it: neither what is decoded nor what the typed skip finds.
func TestFieldsInAnyOrder(t *testing.T) {
	pl, _, err := plan.Of(new(thrifttest.Everything))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(500) {
		_, want := thrifttest.Random(seed, 90)
		fields := fieldsOf(t, thrifttest.Encode(t, want))
		r := rand.New(rand.NewPCG(seed, 91))
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		body := joined(fields)
		got := new(thrifttest.Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), got, nil); err != nil || !thrift.Equal(got, want) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, thrift.String(got), thrift.String(want))
		}
		at := make([]uint32, len(pl.Fields))
		c := plan.Checker{B: body}
		if end, flt := c.Fields(pl, 0, 64, at); flt != raw.Fine || end != len(body) || c.Again {
			t.Fatalf("seed %d: the checker ends at %d of %d: %s, again: %v", seed, end, len(body), flt.Why(), c.Again)
		}
		there := 0
		for i, o := range at {
			if o == 0 {
				continue
			}
			there++
			if head := uint32(body[o-3])<<16 | uint32(body[o-2])<<8 | uint32(body[o-1]); head != pl.Fields[i].Tag {
				t.Fatalf("seed %d: field %d is not at %d", seed, i, o)
			}
		}
		if there != len(fields) {
			t.Fatalf("seed %d: %d of %d fields are indexed", seed, there, len(fields))
		}
	}
}

// TestLastFieldCountsAnywhere has each field twice, of two messages, in any order: the
// second one counts, and the checker says that there is a second one.
func TestLastFieldCountsAnywhere(t *testing.T) {
	pl, _, err := plan.Of(new(thrifttest.Everything))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(200) {
		_, first := thrifttest.Random(seed, 92)
		_, last := thrifttest.Random(seed, 93)
		a, b := fieldsOf(t, thrifttest.Encode(t, first)), fieldsOf(t, thrifttest.Encode(t, last))
		// Only fields that the last message has too: those of the first would stay.
		has := map[string]bool{}
		for _, f := range b {
			has[string(f[:3])] = true
		}
		var twice [][]byte
		for _, f := range a {
			if has[string(f[:3])] {
				twice = append(twice, f)
			}
		}
		r := rand.New(rand.NewPCG(seed, 94))
		r.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
		r.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		body := joined(append(twice, b...))
		got := new(thrifttest.Everything)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(body), got, nil); err != nil || !thrift.Equal(got, last) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, thrift.String(got), thrift.String(last))
		}
		c := plan.Checker{B: body}
		if _, flt := c.Fields(pl, 0, 64, make([]uint32, len(pl.Fields))); flt != raw.Fine || !c.Again && len(twice) > 0 {
			t.Fatalf("seed %d: %s, again: %v with %d fields twice", seed, flt.Why(), c.Again, len(twice))
		}
	}
}

// ids has fields whose ids are found in each way: by the guess, by the index, and by the
// map, in which negative ones are.
type ids struct {
	A int32  `thrift:"a,-32768"`
	B int64  `thrift:"b,-1"`
	C string `thrift:"c,1"`
	D int32  `thrift:"d,1024"`
	E int32  `thrift:"e,1025"`
	F bool   `thrift:"f,32767"`
	G int16  `thrift:"g,2"`
}

// TestIDsAtTheirEdges goes through all orders of the fields, with fields between them that
// have the same ids with other types, and ids that are near.
func TestIDsAtTheirEdges(t *testing.T) {
	want := &ids{A: 1, B: -2, C: "c", D: 4, E: 5, F: true, G: -7}
	fields := fieldsOf(t, thrifttest.Encode(t, want))
	if len(fields) != 7 {
		t.Fatalf("%d fields", len(fields))
	}
	var strange [][]byte
	for _, id := range []int16{-32768, -32767, -2, -1, 0, 1, 2, 3, 1023, 1024, 1025, 1026, 32766, 32767} {
		strange = append(strange, []byte{byte(raw.TypeDouble), byte(uint16(id) >> 8), byte(id), 1, 2, 3, 4, 5, 6, 7, 8})
	}
	orders := 0
	var permute func(n int)
	permute = func(n int) {
		if n > 1 {
			for i := range n {
				permute(n - 1)
				j := 0
				if n%2 == 0 {
					j = i
				}
				fields[j], fields[n-1] = fields[n-1], fields[j]
			}
			return
		}
		var all [][]byte
		for i, f := range fields {
			all = append(append(all, strange[(orders+i)%len(strange)]), f)
		}
		orders++
		got := new(ids)
		if err := (thrift.Binary{}).Decode(buf.ViewOf(joined(all)), got, nil); err != nil || *got != *want {
			t.Fatalf("order %d: %v, %+v", orders, err, got)
		}
	}
	permute(len(fields))
	if orders != 7*6*5*4*3*2 {
		t.Errorf("%d orders", orders)
	}
	// Compact counts each id from the one before, forwards and backwards.
	var out buf.Out
	defer out.Reset()
	got := new(ids)
	if err := (thrift.Compact{}).Append(&out, want); err != nil {
		t.Fatal(err)
	}
	if err := (thrift.Compact{}).Decode(buf.ViewOf(out.Bytes()), got, nil); err != nil || *got != *want {
		t.Errorf("Compact: %v, %+v", err, got)
	}
}

// TestUsedMessagesAreReplaced decodes one message after the other into one place: nothing
// of the one before is left, and what was taken out of it stays as it was.
func TestUsedMessagesAreReplaced(t *testing.T) {
	for _, c := range []rpc.Codec{thrift.Binary{}, thrift.Compact{}} {
		used := new(thrifttest.Everything)
		var before, copied thrifttest.Everything
		for seed := range uint64(200) {
			_, want := thrifttest.Random(seed, 95)
			var out buf.Out
			if err := c.Append(&out, want); err != nil {
				t.Fatal(err)
			}
			before = *used // all that it refers to
			copied = *thrift.Clone(used)
			if err := c.Decode(buf.ViewOf(out.Bytes()), used, nil); err != nil || !thrift.Equal(used, want) {
				t.Fatalf("%T, seed %d: %v\n%s\n%s", c, seed, err, thrift.String(used), thrift.String(want))
			}
			if !thrift.Equal(&before, &copied) {
				t.Fatalf("%T, seed %d: the decode wrote to what the message before has referred to", c, seed)
			}
			out.Reset()
		}
	}
}

// TestElementFindsWhatTheCheckerFinds: the loop over elements of a list gives what the
// general way does, or nothing, for right ones and for spoilt ones.
func TestElementFindsWhatTheCheckerFinds(t *testing.T) {
	pl, _, err := plan.Of(new(thrifttest.Leaf))
	if err != nil || !pl.Plain {
		t.Fatalf("%v, plain: %v", err, pl.Plain)
	}
	found := 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 96))
		body := thrifttest.Encode(t, &thrifttest.Leaf{ID: r.Int64(), Name: text(r.IntN(40), int(seed))})
		for range r.IntN(3) {
			body[r.IntN(len(body))] ^= byte(1 << r.IntN(8))
		}
		at, general := make([]uint32, len(pl.Fields)), make([]uint32, len(pl.Fields))
		end := plan.Element(body, pl.Runs, 0, at)
		if end == 0 {
			continue
		}
		found++
		c := plan.Checker{B: body}
		if o, flt := c.Fields(pl, 0, 1, general); flt != raw.Fine || o != end || !reflect.DeepEqual(at, general) {
			t.Fatalf("seed %d: Element ends at %d with %v, Fields at %d with %v (%s): %x", seed, end, at, o, general, flt.Why(), body)
		}
		d := plan.Decoder{B: body, Budget: codec.Unlimited}
		_, p, _ := plan.Of(new(thrifttest.Leaf))
		if o, flt := d.Fields(pl, p, 0, 1); flt != raw.Fine || o != end {
			t.Fatalf("seed %d: Element ends at %d, the decoder at %d (%s): %x", seed, end, o, flt.Why(), body)
		}
	}
	if found < 1000 {
		t.Errorf("only %d elements were right", found)
	}
}
