package thrift_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// purchase is what the face's functions are tried with; what they do to all kinds of
// fields is tested where they are, in internal/shape.
type purchase struct {
	ID    int64            `thrift:"id,1,required"`
	Note  *string          `thrift:"note,2,optional"`
	Price float64          `thrift:"price,3"`
	Items []*item          `thrift:"items,4"`
	Tags  map[string]int32 `thrift:"tags,5"`
}

type item struct {
	Name string `thrift:"name,1"`
	Raw  []byte `thrift:"raw,2"`
}

func someOrder() *purchase {
	return &purchase{ID: 7, Note: new("now"), Price: 1.5, Items: []*item{{"a", []byte{1}}, {"b", nil}}, Tags: map[string]int32{"x": 1}}
}

// no is a struct that is no message.
type no struct {
	F func() `thrift:"f,1"`
}

// A clone shares nothing with what it was made of.
func TestCloneIsIndependent(t *testing.T) {
	o := someOrder()
	c := thrift.Clone(o)
	if !thrift.Equal(o, c) {
		t.Fatalf("%v; want %v", c, o)
	}
	*c.Note, c.Items[0].Raw[0], c.Tags["y"] = "later", 9, 2
	if !thrift.Equal(o, someOrder()) {
		t.Errorf("the original is now %s", thrift.String(o))
	}
	if thrift.Clone[purchase](nil) != nil {
		t.Error("nil has a clone")
	}
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "no.F") {
			t.Errorf("the clone of what is no message: %v", err)
		}
	}()
	thrift.Clone(&no{})
}

// Equal tells absent from zero and nil from a message, and takes messages of one type only.
func TestEqual(t *testing.T) {
	nan := &purchase{Price: math.NaN()}
	for name, c := range map[string]struct {
		a, b any
		want bool
	}{
		"both nil":          {(*purchase)(nil), (*purchase)(nil), true},
		"one nil":           {(*purchase)(nil), &purchase{}, false},
		"absent and zero":   {&purchase{}, &purchase{Note: new("")}, false},
		"nil and empty":     {&purchase{}, &purchase{Items: []*item{}, Tags: map[string]int32{}}, true},
		"another order":     {&purchase{Items: []*item{{Name: "a"}, {Name: "b"}}}, &purchase{Items: []*item{{Name: "b"}, {Name: "a"}}}, false},
		"a value of a map":  {&purchase{Tags: map[string]int32{"a": 1}}, &purchase{Tags: map[string]int32{"a": 2}}, false},
		"two types":         {&purchase{}, &item{}, false},
		"the same NaN":      {nan, thrift.Clone(nan), true},
		"far in a list":     {&purchase{Items: []*item{{Raw: []byte{1}}}}, &purchase{Items: []*item{{Raw: []byte{2}}}}, false},
		"all kinds of them": {thrifttest.Shapes()["medium"], thrifttest.Shapes()["medium"], true},
	} {
		if got := thrift.Equal(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What Validate refuses Append refuses, with a path to it.
func TestValidate(t *testing.T) {
	if err := thrift.Validate(someOrder()); err != nil {
		t.Error(err)
	}
	for want, msg := range map[string]any{
		"thrift: items[1] is nil": &purchase{Items: []*item{{}, nil}},
	} {
		var bad *thrift.InvalidError
		if err := thrift.Validate(msg); !errors.As(err, &bad) || !errors.Is(err, rpc.InvalidArgument) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
		if err := (thrift.Binary{}).Append(new(buf.Out), msg); err == nil {
			t.Errorf("%s: it is encoded", want)
		}
	}
	var typ *thrift.TypeError
	for _, msg := range []any{&no{}, (*purchase)(nil), nil, 7} {
		if err := thrift.Validate(msg); !errors.As(err, &typ) {
			t.Errorf("%T: %v", msg, err)
		}
	}
}

func TestMasks(t *testing.T) {
	keep, err := thrift.Keep[purchase]("id,items.name")
	if err != nil {
		t.Fatal(err)
	}
	drop, err := thrift.Drop[purchase]("note,items.raw")
	if err != nil {
		t.Fatal(err)
	}
	o := someOrder()
	keep.Apply(o)
	keep.Apply(nil)
	if want := (&purchase{ID: 7, Items: []*item{{Name: "a"}, {Name: "b"}}}); !thrift.Equal(o, want) {
		t.Errorf("kept %s; want %s", thrift.String(o), thrift.String(want))
	}
	o = someOrder()
	drop.Apply(o)
	if want := (&purchase{ID: 7, Price: 1.5, Items: []*item{{Name: "a"}, {Name: "b"}}, Tags: map[string]int32{"x": 1}}); !thrift.Equal(o, want) {
		t.Errorf("dropped %s; want %s", thrift.String(o), thrift.String(want))
	}
	for _, paths := range []string{"nothing", "items.nothing", "id.more"} {
		var bad *thrift.MaskError
		if _, err := thrift.Keep[purchase](paths); !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), "thrift: mask ") {
			t.Errorf("%s: %v", paths, err)
		}
	}
	var typ *thrift.TypeError
	if _, err := thrift.Drop[no]("f"); !errors.As(err, &typ) {
		t.Errorf("of no message: %v", err)
	}
}

// A call in the Compact protocol takes the codec of the same depth; JSON has no such form.
func TestBinaryInOtherEncodings(t *testing.T) {
	if c := (thrift.Binary{MaxDepth: 3, Plan: true}).In(rpc.Compact); c != (thrift.Compact{MaxDepth: 3}) {
		t.Errorf("%#v", c)
	}
	for e := range rpc.Encoding(10) {
		if c := (thrift.Binary{}).In(e); (c != nil) != (e == rpc.Compact) {
			t.Errorf("encoding %d: %#v", e, c)
		}
	}
}

// MaxDepth bounds what all codecs encode, also of what refers to itself.
func TestMaxDepth(t *testing.T) {
	type ring struct {
		Next *ring `thrift:"next,1,optional"`
	}
	round := &ring{}
	round.Next = round
	three := &ring{&ring{&ring{}}}
	for name, of := range map[string]func(depth int) rpc.Codec{
		"binary":  func(n int) rpc.Codec { return thrift.Binary{MaxDepth: n} },
		"compact": func(n int) rpc.Codec { return thrift.Compact{MaxDepth: n} },
		"JSON":    func(n int) rpc.Codec { return thrift.JSON{MaxDepth: n} },
	} {
		var out, again buf.Out
		if err := of(0).Append(&out, round); err == nil {
			t.Errorf("%s: a ring is encoded", name)
		}
		if err := of(2).Append(&out, three); err == nil {
			t.Errorf("%s: three levels are encoded as two", name)
		}
		if err := errors.Join(of(3).Append(&again, three), of(0).Append(&again, three)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b := again.Bytes(); !bytes.Equal(b[:len(b)/2], b[len(b)/2:]) {
			t.Errorf("%s: the depth changes what is written", name)
		}
		out.Reset()
		again.Reset()
	}
}
