package protobuf_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

func ExampleMarshal() {
	type Order struct {
		ID   int64  `proto:"1,int64"`
		Note string `proto:"2,string"`
	}
	stored, err := protobuf.Marshal(&Order{ID: 7, Note: "two of them"})
	if err != nil {
		panic(err)
	}
	var o Order
	if err := protobuf.Unmarshal(stored, &o); err != nil {
		panic(err)
	}
	fmt.Println(len(stored), o.ID, o.Note)
	// Output: 15 7 two of them
}

// TestUnknownFields sends messages through a program that knows less of them.
func TestUnknownFields(t *testing.T) {
	for seed := range uint64(50) {
		r := prototest.NewFiller(seed)
		all := new(prototest.All)
		r.Message(all)
		all.I64, all.I32 = 0, 0 // Leaf has a field 1 of another type, and one number 3
		all.U32 = 0
		b, err := ordered.AppendBytes(nil, all)
		if err != nil {
			t.Fatal(err)
		}
		leaf := new(prototest.Leaf)
		if err := (protobuf.Codec{}).Decode(buf.ViewOf(b), leaf, deep); err != nil {
			t.Fatal(err)
		}
		if leaf.ID != 0 || !bytes.Equal(leaf.Unknown(), b) {
			t.Fatalf("kept %x of %x", leaf.Unknown(), b)
		}
		copied := protobuf.Clone(leaf)
		leaf.ID = 5
		again, err := ordered.AppendBytes(nil, leaf)
		if err != nil || !bytes.Equal(again, append([]byte{8, 5}, b...)) || protobuf.Equal(copied, leaf) {
			t.Fatalf("%x, %v", again, err)
		}
		if err := protobuf.Unmarshal(nil, leaf); err != nil || leaf.Unknown() != nil || leaf.ID != 0 {
			t.Fatalf("a message that is used again keeps %x", leaf.Unknown())
		}
	}
	// The tag of a kept field is written as short as it can be.
	leaf := new(prototest.Leaf)
	if err := protobuf.Unmarshal([]byte("\xa8\x80\x00\x01\x08\x02"), leaf); err != nil || string(leaf.Unknown()) != "\x28\x01" || leaf.ID != 2 {
		t.Errorf("%x %v", leaf.Unknown(), err)
	}
	// What a program has put there itself is looked at.
	type kept struct {
		unknown []byte `proto:"unknown"`
	}
	for _, bad := range []string{"\x08", "\x0b", "\x0c", "\x0a\x05", "\x00\x00"} {
		if _, err := protobuf.Marshal(&kept{unknown: []byte(bad)}); err == nil {
			t.Errorf("%x was sent", bad)
		}
	}
}

// shade is a closed enum.
type shade int32

func (s shade) Known() bool { return s == 1 || s == -2 }

type shades struct {
	One   shade            `proto:"1,enum,closed"`
	Maybe *shade           `proto:"2,enum,closed,explicit"`
	Loose []shade          `proto:"3,enum,closed"`
	Tight []shade          `proto:"4,enum,closed,packed"`
	Named map[string]shade `proto:"5,map(string,enum),closed"`
	Both  shadeBoth        `proto:"oneof"`

	unknown []byte `proto:"unknown"`
}

type shadeBoth interface{ isUnion(*bothShade, *bothText) }
type bothShade struct {
	Value shade `proto:"6,enum,closed"`
}
type bothText struct {
	Value string `proto:"7,string"`
}

func (*bothShade) isUnion(*bothShade, *bothText) {}
func (*bothText) isUnion(*bothShade, *bothText)  {}

// TestClosedEnums has numbers without a name everywhere: they are unknown fields.
func TestClosedEnums(t *testing.T) {
	const minus2 = "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	for _, tt := range []struct {
		name, in string
		want     shades
		unknown  string
	}{
		{"one", "\x08\x01\x08\x05", shades{One: 1}, "\x08\x05"},
		{"negative", "\x08" + minus2, shades{One: -2}, ""},
		{"maybe", "\x10\x05\x10\x01\x10\x06", shades{Maybe: new(shade(1))}, "\x10\x05\x10\x06"},
		{"loose", "\x18\x01\x18\x05\x18\x01", shades{Loose: []shade{1, 1}}, "\x18\x05"},
		{"loose, packed", "\x1a\x03\x01\x05\x01", shades{Loose: []shade{1, 1}}, "\x18\x05"},
		{"tight", "\x22\x04\x01\x06\x05\x01", shades{Tight: []shade{1, 1}}, "\x20\x06\x20\x05"},
		{"tight, not packed", "\x20\x01\x20\x05", shades{Tight: []shade{1}}, "\x20\x05"},
		{"named", "\x2a\x05\x0a\x01a\x10\x01\x2a\x05\x0a\x01b\x10\x05", shades{Named: map[string]shade{"a": 1}}, "\x2a\x05\x0a\x01b\x10\x05"},
		{"both", "\x3a\x01x\x30\x05", shades{Both: &bothText{"x"}}, "\x30\x05"},
		{"both, known", "\x30\x05\x3a\x01x\x30\x01", shades{Both: &bothShade{1}}, "\x30\x05"},
	} {
		got := new(shades)
		if err := protobuf.Unmarshal([]byte(tt.in), got); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if string(got.unknown) != tt.unknown {
			t.Errorf("%s: kept %x, want %x", tt.name, got.unknown, tt.unknown)
		}
		again, err := protobuf.Marshal(got)
		back := new(shades)
		if err != nil || protobuf.Unmarshal(again, back) != nil || !protobuf.Equal(back, got) {
			t.Errorf("%s: came back as %+v, %v", tt.name, back, err)
		}
		if got.unknown = nil; !reflect.DeepEqual(got, &tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestPresence tells what is absent from what is zero.
func TestPresence(t *testing.T) {
	zero, none, empty := int32(0), []byte(nil), []byte{}
	if b, err := protobuf.Marshal(&prototest.All{By: empty, Li32: []int32{}, Mss: map[string]string{}, Oby: none}); err != nil || len(b) != 0 {
		t.Errorf("%x, %v", b, err)
	}
	minus := &prototest.All{Db: math.Copysign(0, -1), Fl: float32(math.Copysign(0, -1)), Oi32: &zero, Oby: empty, Leaf: &prototest.Leaf{}, Self: &prototest.All{}, Either: &prototest.EitherInt{}}
	b, err := protobuf.Marshal(minus)
	if err != nil || len(b) != 5+9+3+3+3+3+3 {
		t.Fatalf("%x, %v", b, err)
	}
	back := new(prototest.All)
	if err := protobuf.Unmarshal(b, back); err != nil || !math.Signbit(back.Db) || back.Oi32 == nil || back.Oby == nil || back.Leaf == nil || back.Either == nil || back.By != nil {
		t.Errorf("%+v, %v", back, err)
	}
	type always struct {
		N int32  `proto:"1,int32,required"`
		S string `proto:"2,string,required"`
		D uint64 `proto:"3,fixed64,required"`
	}
	if b, err := protobuf.Marshal(&always{}); err != nil || len(b) != 2+2+9 {
		t.Errorf("%x, %v", b, err)
	}
	if err := protobuf.Unmarshal([]byte("\x08\x00"), &always{}); err == nil {
		t.Error("required strings are missing")
	}
}

// TestMerges has fields that come twice.
func TestMerges(t *testing.T) {
	parts := []*prototest.All{
		{I32: 1, Leaf: &prototest.Leaf{ID: 1, Name: "a"}, Li32: []int32{1, 2}, Mss: map[string]string{"a": "1", "b": "2"}, Either: &prototest.EitherLeaf{Value: &prototest.Leaf{ID: 1}}, Many: &prototest.ManyM1{Value: true}, Lst: []string{"x"}},
		{I32: 2, Leaf: &prototest.Leaf{ID: 2, Price: 3}, Li32: []int32{3}, Mss: map[string]string{"b": "3"}, Either: &prototest.EitherLeaf{Value: &prototest.Leaf{Name: "n"}}, Many: &prototest.ManyM4{Value: "y"}, Lst: []string{"y"}},
	}
	want := &prototest.All{I32: 2, Leaf: &prototest.Leaf{ID: 2, Name: "a", Price: 3}, Li32: []int32{1, 2, 3}, Mss: map[string]string{"a": "1", "b": "3"},
		Either: &prototest.EitherLeaf{Value: &prototest.Leaf{ID: 1, Name: "n"}}, Many: &prototest.ManyM4{Value: "y"}, Lst: []string{"x", "y"}}
	var b []byte
	for _, p := range parts {
		var err error
		if b, err = protobuf.Append(b, p); err != nil {
			t.Fatal(err)
		}
	}
	got := &prototest.All{Bl: true} // which is gone afterwards
	if err := protobuf.Unmarshal(b, got); err != nil || !protobuf.Equal(got, want) {
		t.Errorf("%v\nwant %v, %v", protobuf.String(got), protobuf.String(want), err)
	}
}

// TestTypeErrors has a type for everything that is wrong with one.
func TestTypeErrors(t *testing.T) {
	type leaf = prototest.Leaf
	for _, tt := range []struct {
		msg any
		why string
	}{
		{7, "a message is a pointer to a struct"},
		{(*leaf)(nil), "the message is nil"},
		{new(struct {
			A int64 `proto:"0,int64"`
		}), "does not begin with a field's number"},
		{new(struct {
			A int64 `proto:"19000,int64"`
		}), "does not begin with a field's number"},
		{new(struct {
			A int64 `proto:"536870912,int64"`
		}), "does not begin with a field's number"},
		{new(struct {
			A int64 `proto:"1,i64"`
		}), "which Protobuf does not have"},
		{new(struct {
			A int64 `proto:"1,int64,often"`
		}), `the option "often", which is none`},
		{new(struct {
			A int64 `proto:"1,int32"`
		}), "int32 is no int64"},
		{new(struct {
			A string `proto:"1,bytes"`
		}), "bytes is no string"},
		{new(struct {
			A leaf `proto:"1,message"`
		}), "message is no prototest.Leaf"},
		{new(struct {
			A *int64 `proto:"1,int64"`
		}), "explicit or required"},
		{new(struct {
			A int64 `proto:"1,int64,explicit"`
		}), "what is explicit is a pointer"},
		{new(struct {
			A []int64 `proto:"1,int64,explicit"`
		}), "neither explicit nor required"},
		{new(struct {
			A []string `proto:"1,string,packed"`
		}), "only lists of numbers"},
		{new(struct {
			A []*int64 `proto:"1,int64"`
		}), "elements are no pointers"},
		{new(struct {
			A [][]int64 `proto:"1,int64"`
		}), "int64 is no []int64"},
		{new(struct {
			A map[float64]int64 `proto:"1,map(double,int64)"`
		}), "map(KEY,VALUE)"},
		{new(struct {
			A map[string]int64 `proto:"1,map(string,int32)"`
		}), "int32 is no int64"},
		{new(struct {
			A map[int32]string `proto:"1,map(string,string)"`
		}), "map(string,string) is no"},
		{new(struct {
			A int32 `proto:"1,enum,closed"`
		}), "Known() bool"},
		{new(struct {
			A int32 `proto:"1,int32,closed"`
		}), `the option "closed", which is none`},
		{new(struct {
			A int32 `proto:"oneof"`
		}), "a oneof is a sealed interface"},
		{new(struct {
			A any `proto:"oneof"`
		}), "is no union"},
		{new(struct {
			A string `proto:"unknown"`
		}), "what keeps unknown fields is a []byte"},
		{new(struct {
			a int64 `proto:"1,int64"`
		}), "is not exported"},
		{new(struct {
			A int64 `proto:"1,int64"`
			B int64 `proto:"1,int64"`
		}), "id 1 is also that of A"},
		{new(struct {
			A int64     `proto:"6,int64"`
			B shadeBoth `proto:"oneof"`
		}), "two fields have the number 6"},
		{new(struct {
			A int64 `proto:"1,int64,noutf8"`
		}), "only strings"},
	} {
		_, err := protobuf.Marshal(tt.msg)
		var typ *protobuf.TypeError
		if !errors.As(err, &typ) || !strings.Contains(err.Error(), tt.why) || rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%T: %v, want %q", tt.msg, err, tt.why)
		}
		if err := protobuf.Unmarshal(nil, tt.msg); !errors.As(err, &typ) {
			t.Errorf("%T: %v", tt.msg, err)
		}
	}
}

// TestUnsendable has values of right types that cannot be sent, shallow and deep.
func TestUnsendable(t *testing.T) {
	bad := "\xff"
	for _, tt := range []struct {
		msg   *prototest.All
		field string
	}{
		{&prototest.All{St: bad}, "All.St"},
		{&prototest.All{St: strings.Repeat("x", 200) + bad}, "All.St"},
		{&prototest.All{Ost: &bad}, "All.Ost"},
		{&prototest.All{Lst: []string{"", bad}}, "All.Lst"},
		{&prototest.All{Mss: map[string]string{"": bad}}, "All.Mss"},
		{&prototest.All{Msi: map[string]int32{bad: 1}}, "All.Msi"},
		{&prototest.All{Either: &prototest.EitherText{Value: bad}}, "All.Either"},
		{&prototest.All{Leaf: &prototest.Leaf{Name: bad}}, "Leaf.Name"},
		{&prototest.All{Lleaf: []*prototest.Leaf{nil}}, "All.Lleaf"},
		{&prototest.All{Msl: map[string]*prototest.Leaf{"": nil}}, "All.Msl"},
		{&prototest.All{Either: &prototest.EitherLeaf{}}, "EitherLeaf.Value"},
	} {
		for _, msg := range []*prototest.All{tt.msg, {Self: tt.msg}, {Self: &prototest.All{Self: tt.msg, By: make([]byte, 10_000)}}, {Mxa: map[int64]*prototest.All{1: tt.msg}}} {
			b, err := protobuf.Append([]byte("kept"), msg)
			var typ *protobuf.TypeError
			if !errors.As(err, &typ) || !strings.Contains(err.Error(), tt.field) || string(b) != "kept" {
				t.Errorf("%v: %v, want %s", protobuf.String(msg), err, tt.field)
			}
		}
	}
}

// TestWalkers clones, compares, shows and masks random messages.
func TestWalkers(t *testing.T) {
	keep, err := protobuf.Keep[prototest.All]("leaf.name,self.i32,either.either_leaf.id")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		a := new(prototest.All)
		prototest.NewFiller(seed).Message(a)
		b := protobuf.Clone(a)
		if !protobuf.Equal(a, b) || protobuf.String(a) != protobuf.String(b) && len(a.Msl)+len(a.Mxa) == 0 {
			t.Fatalf("%d: a copy differs", seed)
		}
		if b.I32++; protobuf.Equal(a, b) {
			t.Fatalf("%d: a changed copy does not", seed)
		}
		if keep.Apply(b); b.I32 != 0 || b.Leaf != nil && b.Leaf.ID != 0 || b.Li32 != nil || b.Many != nil {
			t.Fatalf("%d: the mask left %v", seed, b)
		}
	}
	if got := protobuf.String(&prototest.All{Color: 1, Either: &prototest.EitherInt{Value: 5}}); !strings.Contains(got, "color:RED") || !strings.Contains(got, "either:{either_int:5}") {
		t.Error(got)
	}
	if got := protobuf.String(&prototest.All{Li32: []int32{}, Either: &prototest.EitherInt{}}); got != "All{either:{either_int:0}}" {
		t.Error(got)
	}
	var mask *protobuf.MaskError
	if _, err := protobuf.Drop[prototest.All]("leaf.none"); !errors.As(err, &mask) || mask.Path != "leaf.none" {
		t.Error(err)
	}
	if _, err := protobuf.Drop[prototest.Old]("id"); !errors.As(err, &mask) {
		t.Error(err)
	}
}

// TestUnmarshalRefersToNothing overwrites the bytes of messages of every size and looks at what was made
// of them.
func TestUnmarshalRefersToNothing(t *testing.T) {
	for _, n := range []int{0, 1, 100, 600, 5000, 600_000, 12 << 20} {
		want := &prototest.All{St: strings.Repeat("x", n), By: []byte("y"), Lst: []string{strings.Repeat("z", n/2)}, Leaf: &prototest.Leaf{ID: 3, Name: "short"}}
		b, err := protobuf.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := new(prototest.All)
		if err := protobuf.Unmarshal(b, got); err != nil {
			t.Fatal(err)
		}
		if clear(b); !protobuf.Equal(got, want) {
			t.Errorf("%d bytes: the message changed with its bytes", n)
		}
	}
}

// TestDeterministic encodes maps again and again.
func TestDeterministic(t *testing.T) {
	msg := new(prototest.All)
	msg.Mbb = map[bool][]byte{true: nil, false: {1}}
	msg.Mll, msg.Msi, msg.Muf = map[int64]int64{}, map[string]int32{}, map[uint32]float32{}
	for i := range 50 {
		msg.Mll[int64(i-25)], msg.Msi[fmt.Sprint(i)], msg.Muf[uint32(i)] = 1, 2, 3
	}
	first, err := ordered.AppendBytes(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	same := true
	for range 20 {
		b, _ := ordered.AppendBytes(nil, msg)
		loose, _ := protobuf.Marshal(msg)
		if !bytes.Equal(b, first) || len(loose) != len(first) {
			t.Fatal("other bytes")
		}
		same = same && slices.Equal(loose, first)
	}
	if same {
		t.Error("without an order the bytes are the same: the test shows nothing")
	}
}
