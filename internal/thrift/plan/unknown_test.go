package plan_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// sparse knows little of Everything, and keeps the rest.
type sparse struct {
	I32     int32          `thrift:"i32,4"`
	String  string         `thrift:"string,7"`
	Rest    thrift.Unknown `thrift:",unknown"`
	Leaf    *sparseLeaf    `thrift:"leaf,11"`
	Tree    *sparseTree    `thrift:"tree,13,optional"`
	Leaves  []*sparseLeaf  `thrift:"leaves,50"`
	Strings []string       `thrift:"strings,46"`
}

type sparseLeaf struct {
	Name string `thrift:"name,2"`
	Rest thrift.Unknown
}

type sparseTree struct {
	Children []*sparseTree `thrift:"children,2,optional"`
	Rest     thrift.Unknown
}

// What goes through a program that knows little arrives whole.
func TestUnknownPassesThrough(t *testing.T) {
	for seed := range uint64(300) {
		_, want := thrifttest.Random(seed, 25)
		mid := new(sparse)
		if err := thrifttest.Decode(thrifttest.Encode(t, want), mid); err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			mid = thrift.Clone(mid)
		}
		got := new(thrifttest.Everything)
		if err := thrifttest.Decode(thrifttest.Encode(t, mid), got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, thrifttest.Normal(t, want)) {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, thrift.String(got), thrift.String(want))
		}
	}
}

func TestUnknownBytes(t *testing.T) {
	for _, c := range []struct{ in, rest, out string }{
		// Others, before, between and behind those that are known, as they came.
		{"02 0063 01  0b 0002 00000001 61  03 0064 07  00", "02 0063 01 03 0064 07", "0b 0002 00000001 61 02 0063 01 03 0064 07 00"},
		{"02 0063 01  02 0063 00  00", "02 0063 01 02 0063 00", "0b 0002 00000000 02 0063 01 02 0063 00 00"},
		// A field that is known, with another type.
		{"08 0002 00000005 00", "08 0002 00000005", "0b 0002 00000000 08 0002 00000005 00"},
		// A struct, a list.
		{"0c 0063 0c 0001 00 00 0f 0064 0a 00000000 00", "0c 0063 0c 0001 00 00 0f 0064 0a 00000000", "0b 0002 00000000 0c 0063 0c 0001 00 00 0f 0064 0a 00000000 00"},
		{"00", "", "0b 0002 00000000 00"},
	} {
		body := thrifttest.Unhex(t, c.in)
		m := &sparseLeaf{Rest: thrift.Unknown("before")}
		if err := thrifttest.Decode(body, m); err != nil || !bytes.Equal(m.Rest, thrifttest.Unhex(t, c.rest)) {
			t.Errorf("%s: %x, %v", c.in, m.Rest, err)
		}
		if got := thrifttest.Encode(t, m); !bytes.Equal(got, thrifttest.Unhex(t, c.out)) {
			t.Errorf("%s: %x", c.in, got)
		}
		// Nothing of the message refers to the body.
		saved := bytes.Clone(m.Rest)
		clear(body)
		if !bytes.Equal(m.Rest, saved) {
			t.Errorf("%s: refers to the body", c.in)
		}
		for i := range len(thrifttest.Unhex(t, c.in)) {
			var syntax *thrift.SyntaxError
			if err := thrifttest.Decode(thrifttest.Unhex(t, c.in)[:i], new(sparseLeaf)); !errors.As(err, &syntax) || syntax.Offset > i {
				t.Errorf("%s: prefix of %d: %v", c.in, i, err)
			}
		}
	}
	// A list of other elements than the struct has.
	m := new(sparse)
	if err := thrifttest.Decode(thrifttest.Unhex(t, "0f 002e 08 00000001 00000007 00"), m); err != nil || !bytes.Equal(m.Rest, thrifttest.Unhex(t, "0f 002e 08 00000001 00000007")) {
		t.Errorf("%x, %v", m.Rest, err)
	}
}

func TestUnknownLimits(t *testing.T) {
	lim := rpc.Limits{DecodeFactor: 1}.WithDefaults()
	var many []byte
	for range 1 << 16 {
		many = append(many, 2, 0, 99, 1)
	}
	many = append(many, 0)
	var syntax *thrift.SyntaxError
	if err := (thrift.Binary{}).Decode(buf.ViewOf(many), new(sparseLeaf), lim); !errors.As(err, &syntax) || syntax.Why != "takes more memory than its size allows" {
		t.Errorf("over the budget: %v", err)
	}
	if err := (thrift.Binary{}).Decode(buf.ViewOf(many), new(sparseLeaf), nil); err != nil {
		t.Errorf("by default: %v", err)
	}
	deep := func(n int) []byte {
		return append(bytes.Repeat([]byte{12, 0, 99}, n), bytes.Repeat([]byte{0}, n+1)...)
	}
	for n, ok := range map[int]bool{63: true, 64: false} {
		m := new(sparseLeaf)
		if err := thrifttest.Decode(deep(n), m); (err == nil) != ok {
			t.Errorf("%d levels: %v", n, err)
		}
		// What was made by hand is held against the encoder's own bound.
		m.Rest = deep(n)[:4*n] // without the message's own stop
		if err := thrifttest.Appends(m); (err == nil) != ok || (thrift.Validate(m) == nil) != ok {
			t.Errorf("%d levels are encoded: %v", n, err)
		}
	}
	for _, bad := range []string{"x", "\x02\x00", "\x02\x00\x01", "\x00", "\x02\x00\x01\x01\x00", "\x01\x00\x01\x00", "\x0b\x00\x01\x7f\xff\xff\xff", "\x0f\x00\x01\x02\xff\xff\xff\xff"} {
		m := &sparseLeaf{Rest: thrift.Unknown(bad)}
		var typ *thrift.TypeError
		if err := thrifttest.Appends(m); !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal || thrift.Validate(m) == nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestUnknownTypes(t *testing.T) {
	type unknown = thrift.Unknown
	for _, c := range []struct {
		m   any
		why string
	}{
		{&struct{ A, B unknown }{}, "one field of type thrift.Unknown already"},
		{&struct {
			A unknown `thrift:"a,1"`
		}{}, "has no tag, or `,unknown`"},
		{&struct {
			A unknown `thrift:"-"`
			B unknown
		}{}, ""},
		{&struct {
			a unknown
			B unknown `json:"b"`
		}{}, ""},
		{&struct{ thrift.Unknown }{}, ""},
	} {
		err := thrifttest.Appends(c.m)
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%T: %v", c.m, err)
		}
	}
	if err := thrifttest.Appends(&struct {
		U odd `thrift:"u,1"`
	}{}); err == nil || !strings.Contains(err.Error(), "exactly one field") {
		t.Errorf("a variant that keeps: %v", err)
	}
}

type odd interface{ isUnion(*oddCase) }

type oddCase struct {
	A    int32 `thrift:"a,1"`
	Rest thrift.Unknown
}

func (*oddCase) isUnion(*oddCase) {}

// FuzzUnknown: what is decoded and encoded by a struct that knows little says the
// same as before to one that knows all.
func FuzzUnknown(f *testing.F) {
	for seed := range uint64(20) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 8)), Depth: 5}
		msg := new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(msg).Elem(), true, false)
		f.Add(thrifttest.Encode(f, msg))
	}
	f.Add(thrifttest.Unhex(f, "02 0063 01  0b 0007 00000001 61  03 0064 07  08 0007 00000001 00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		mid := new(sparse)
		if err := thrifttest.Decode(body, mid); err != nil {
			return
		}
		var out buf.Out
		defer out.Reset()
		if err := (thrift.Binary{}).Append(&out, mid); err != nil {
			t.Fatal(err)
		}
		all, passed := new(thrifttest.Everything), new(thrifttest.Everything)
		if err := thrifttest.Decode(body, all); err != nil {
			return // a fault in what sparse passes over, or more memory than allowed
		}
		if err := (thrift.Binary{}).Decode(buf.ViewOf(out.Bytes()), passed, rpc.Limits{DecodeFactor: 64, Depth: 65}.WithDefaults()); err != nil || !thrift.Equal(all, passed) {
			t.Fatalf("%v\n%s\n%s", err, thrift.String(all), thrift.String(passed))
		}
	})
}

// FuzzHelpers gives messages from anywhere to what works on any message.
func FuzzHelpers(f *testing.F) {
	for seed := range uint64(20) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 9)), Depth: 5}
		msg := new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(msg).Elem(), true, false)
		f.Add(thrifttest.Encode(f, msg), "leaf.id,tree.children,eithers.number")
	}
	f.Fuzz(func(t *testing.T, body []byte, paths string) {
		m := new(thrifttest.Everything)
		if err := thrifttest.Decode(body, m); err != nil {
			return
		}
		c := thrift.Clone(m)
		if s := thrifttest.Shared(reflect.ValueOf(c), reflect.ValueOf(m)); s != "" || !thrift.Equal(c, m) {
			t.Fatalf("the copy shares %q, or differs", s)
		}
		text := thrift.String(m)
		if len(text) > 1024 {
			t.Fatal(text)
		}
		if want, got := thrifttest.Appends(m), thrift.Validate(m); (want == nil) != (got == nil) {
			t.Fatalf("%v, the encoder says %v", got, want)
		}
		if mask, err := thrift.Keep[thrifttest.Everything](paths); err == nil {
			mask.Apply(c)
		}
		if mask, err := thrift.Drop[thrifttest.Everything](paths); err == nil {
			mask.Apply(c)
		}
		if thrift.String(m) != text {
			t.Fatal("a mask on the copy changed the original")
		}
		if thrift.Validate(m) == nil && thrift.Validate(c) != nil {
			t.Fatalf("a mask made it wrong: %v", thrift.Validate(c))
		}
	})
}
