package protobuf_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/protobuf"
)

// A changer finds what may be changed in a message so that it can still be sent.
type changer struct {
	*prototest.Filler
	all []func()
}

// change does one thing of all that there are, to any depth.
func (c *changer) change(msg any) {
	c.all = c.all[:0]
	c.message(reflect.ValueOf(msg).Elem())
	c.all[c.IntN(len(c.all))]()
}

func (c *changer) may(f func()) { c.all = append(c.all, f) }

func (c *changer) message(v reflect.Value) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("proto")
		if f := v.Field(i); f.CanSet() && !strings.Contains(tag, "required") {
			c.value(f)
		}
	}
}

// value finds what may become of v. It has a case for each kind of Go type.
func (c *changer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		c.may(func() { v.SetBool(!v.Bool()) })
	case reflect.Int32, reflect.Int64:
		c.may(func() { v.SetInt(v.Int() + 1) })
	case reflect.Uint32, reflect.Uint64:
		c.may(func() { v.SetUint(v.Uint() ^ 1) })
	case reflect.Float32, reflect.Float64:
		c.may(func() { v.SetFloat([]float64{0, math.Copysign(0, -1), math.NaN(), 7}[c.IntN(4)]) })
	case reflect.String:
		c.may(func() { v.SetString(v.String() + "x") })
	case reflect.Pointer:
		c.pointer(v)
	case reflect.Slice:
		c.slice(v)
	case reflect.Map:
		c.entries(v)
	case reflect.Interface:
		if !v.IsNil() {
			c.may(func() { v.SetZero() })
			if f := v.Elem().Elem().Field(0); f.Kind() != reflect.Pointer {
				c.value(f)
			} else {
				c.message(f.Elem())
			}
		}
	}
}

func (c *changer) pointer(v reflect.Value) {
	if v.IsNil() {
		if of := v.Type().Elem(); of.Kind() != reflect.Struct || of == reflect.TypeFor[prototest.Leaf]() || of == reflect.TypeFor[prototest.All]() {
			// Of others a part is required.
			c.may(func() { v.Set(reflect.New(v.Type().Elem())) })
		}
		return
	}
	c.may(func() { v.SetZero() })
	if v.Elem().Kind() == reflect.Struct {
		c.message(v.Elem())
	} else {
		c.value(v.Elem())
	}
}

func (c *changer) slice(v reflect.Value) {
	switch n := v.Len(); {
	case v.Type().Elem().Kind() == reflect.Uint8 && n > 0:
		c.may(func() { v.Index(c.IntN(n)).SetUint(uint64(c.Uint32() % 128)) })
	case n > 0:
		c.may(func() { v.SetLen(n - 1) })
		c.may(func() { // in place, which a copy must not share
			x, y := v.Index(0).Interface(), v.Index(n-1)
			v.Index(0).Set(y)
			y.Set(reflect.ValueOf(x))
		})
		if e := v.Index(c.IntN(n)); e.Kind() == reflect.Pointer {
			c.message(e.Elem())
		} else {
			c.value(e)
		}
	default: // nil and empty are the same, but for what is explicit
		c.may(func() { v.Set(reflect.MakeSlice(v.Type(), 0, 0)) })
		c.may(func() { v.SetZero() })
	}
}

func (c *changer) entries(v reflect.Value) {
	for it := v.MapRange(); it.Next(); {
		k, x := it.Key(), it.Value()
		c.may(func() { v.SetMapIndex(k, reflect.Value{}) })
		if x.Kind() == reflect.Pointer {
			c.message(x.Elem())
			continue
		}
		c.may(func() {
			if x = reflect.Zero(x.Type()); x.Kind() != reflect.Float32 && x.Kind() != reflect.Float64 || c.IntN(2) == 0 {
				v.SetMapIndex(k, x)
			}
		})
	}
}

// theirs is a message in the official run time.
func theirs(t *testing.T, p pair, msg any) proto.Message {
	t.Helper()
	m := p.their()
	if err := proto.Unmarshal(wire(t, msg), m); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return m
}

// TestEqualAndCloneOracle changes copies of random messages, step by step: whether a copy is
// equal to what it was made of is what the official run time says of both, and whatever is
// changed in a copy changes nothing in its origin.
func TestEqualAndCloneOracle(t *testing.T) {
	same, other := 0, 0
	for _, p := range pairs() {
		for seed := range uint64(20) {
			c := &changer{Filler: prototest.NewFiller(seed)}
			a := p.ours()
			c.Message(a)
			before, their := wire(t, a), theirs(t, p, a)
			b := clone(a)
			for range 12 {
				prev := clone(b)
				c.change(b)
				want := proto.Equal(theirs(t, p, prev), theirs(t, p, b))
				if got := protobuf.Equal(prev, b); got != want || protobuf.Equal(b, prev) != want {
					t.Fatalf("%s %d: Equal is %v, the official run time says %v\n%v\n%v", p.name, seed, got, want, protobuf.String(prev), protobuf.String(b))
				}
				if want {
					same++
				} else {
					other++
				}
				if got, want := protobuf.Equal(a, b), proto.Equal(their, theirs(t, p, b)); got != want {
					t.Fatalf("%s %d: after some changes Equal is %v", p.name, seed, got)
				}
			}
			if !bytes.Equal(wire(t, a), before) {
				t.Fatalf("%s %d: changes of a copy show in its origin", p.name, seed)
			}
		}
	}
	if same < 10 || other < 100 {
		t.Errorf("%d changes changed nothing, %d something: there are too few", same, other)
	}
}

// clone is Clone of a message of these tests.
func clone(msg any) any {
	switch m := msg.(type) {
	case *prototest.All:
		return protobuf.Clone(m)
	case *prototest.Old:
		return protobuf.Clone(m)
	}
	return protobuf.Clone(msg.(*prototest.Leaf))
}

// TestMergeOracle decodes two random messages, one behind the other: that merges them, as it
// does where the official run time reads one into the other. Its function Merge has no -0.
func TestMergeOracle(t *testing.T) {
	for _, p := range withMade() {
		for seed := range uint64(20) {
			r := prototest.NewFiller(seed)
			first, second := p.ours(), p.ours()
			r.Message(first)
			r.Message(second)
			both := append(wire(t, first), wire(t, second)...)
			got := p.ours()
			if err := protobuf.Unmarshal(both, got); err != nil {
				t.Fatalf("%s %d: %v", p.name, seed, err)
			}
			want := theirs(t, p, first)
			if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(wire(t, second), want); err != nil {
				t.Fatal(err)
			}
			if b, err := official.Marshal(want); err != nil || !bytes.Equal(wire(t, got), b) {
				t.Fatalf("%s %d: %x\nwant %x, %v", p.name, seed, wire(t, got), b, err)
			}
		}
	}
}

// TestLessKnown sends messages through a reader that knows few of their fields: none is lost,
// and who knows all of them finds them again.
func TestLessKnown(t *testing.T) {
	type less struct {
		U64  uint64            `proto:"4,uint64"`
		Self *prototest.Leaf   `proto:"18,message"` // whose fields are not All's, but for the first
		Mss  map[string]string `proto:"61,map(string,string)"`

		unknown []byte `proto:"unknown"`
	}
	for seed := range uint64(100) {
		r := prototest.NewFiller(seed)
		msg := new(prototest.All)
		r.Message(msg)
		var through less
		if err := protobuf.Unmarshal(wire(t, msg), &through); err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if msg.Self != nil && msg.Self.Mil != nil && len(through.Self.Unknown()) == 0 || msg.I64 != 0 && len(through.unknown) == 0 {
			t.Fatalf("%d: nothing is kept of %v", seed, protobuf.String(msg))
		}
		got := new(prototest.All)
		if err := protobuf.Unmarshal(wire(t, &through), got); err != nil || !protobuf.Equal(got, msg) {
			t.Fatalf("%d: %v\nbecame %v, %v", seed, protobuf.String(msg), protobuf.String(got), err)
		}
	}
}

// TestMutants gives both run times messages with a few wrong bytes: what one takes the other
// takes, and both make the same of it.
func TestMutants(t *testing.T) {
	for _, p := range withMade() {
		for seed := range uint64(40) {
			r := prototest.NewFiller(seed)
			r.Depth, r.Many = 1, 2
			msg := p.ours()
			r.Message(msg)
			b := wire(t, msg)
			if len(b) == 0 {
				continue
			}
			for range 40 {
				m := bytes.Clone(b)
				for range 1 + r.IntN(3) {
					m = mutate(r, m)
				}
				agree(t, p, m)
			}
		}
	}
}

// mutate changes, takes out, repeats or moves a few bytes.
func mutate(r *prototest.Filler, b []byte) []byte {
	if len(b) == 0 {
		return []byte{byte(r.Uint32())}
	}
	at := r.IntN(len(b))
	end := min(len(b), at+1+r.IntN(8))
	switch r.IntN(6) {
	case 0:
		b[at] ^= 1 << r.IntN(8)
	case 1:
		b[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]
	case 2:
		b = append(b[:at:at], b[end:]...)
	case 3:
		b = append(b[:end:end], b[at:]...)
	case 4:
		b = append(b[:at:at], append([]byte{byte(r.Uint32())}, b[at:]...)...)
	default:
		b = append(append(b[end:len(b):len(b)], b[:at]...), b[at:end]...)
	}
	return b
}
