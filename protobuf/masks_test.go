package protobuf_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/protobuf"
)

// paths is what a mask names: fields by name, and what is named within them; nil: all of it.
type paths map[string]paths

// text is the mask as a text.
func (p paths) text(before string) string {
	var all []string
	for name, inner := range p {
		if inner == nil {
			all = append(all, before+name)
		} else {
			all = append(all, inner.text(before+name+"."))
		}
	}
	return strings.Join(all, ", ")
}

// add adds a path.
func (p paths) add(steps []string) {
	inner, have := p[steps[0]]
	switch {
	case len(steps) == 1:
		p[steps[0]] = nil
		return
	case have && inner == nil: // all of it is named already
		return
	case !have:
		inner = paths{}
		p[steps[0]] = inner
	}
	inner.add(steps[1:])
}

// stepsOf draws the steps of a path in messages of a type: a oneof is one, and its field another.
func stepsOf(r *prototest.Filler, d protoreflect.MessageDescriptor, depth int) (steps []string) {
	f := d.Fields().Get(r.IntN(d.Fields().Len()))
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		if steps = append(steps, string(o.Name())); r.IntN(4) == 0 {
			return steps
		}
	}
	steps = append(steps, string(f.Name()))
	within := f.Message()
	if f.IsMap() {
		within = f.MapValue().Message()
	}
	if within != nil && depth > 0 && r.IntN(3) > 0 {
		steps = append(steps, stepsOf(r, within, depth-1)...)
	}
	return steps
}

// masked applies a mask in the official run time.
func masked(m protoreflect.Message, p paths, keep bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		inner, named := p[string(f.Name())]
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if inner, named = p[string(o.Name())]; inner != nil {
				inner, named = inner[string(f.Name())]
			}
		}
		switch {
		case inner != nil:
			eachMessage(f, v, func(within protoreflect.Message) { masked(within, inner, keep) })
		case named != keep:
			m.Clear(f)
		}
		return true
	})
}

// eachMessage calls do for the messages that a field holds.
func eachMessage(f protoreflect.FieldDescriptor, v protoreflect.Value, do func(protoreflect.Message)) {
	switch {
	case f.IsMap():
		v.Map().Range(func(_ protoreflect.MapKey, x protoreflect.Value) bool {
			do(x.Message())
			return true
		})
	case f.IsList():
		for i := range v.List().Len() {
			do(v.List().Get(i).Message())
		}
	default:
		do(v.Message())
	}
}

// TestMaskOracle applies random masks to random messages, and does the same by reflection in the
// official run time.
func TestMaskOracle(t *testing.T) {
	changed := 0
	all := pairs()[0]
	for seed := range uint64(120) {
		r := prototest.NewFiller(seed)
		msg := new(prototest.All)
		r.Message(msg)
		their := theirs(t, all, msg)
		p := paths{}
		for range 1 + r.IntN(12) {
			p.add(stepsOf(r, their.ProtoReflect().Descriptor(), 3))
		}
		make, keep := protobuf.Drop[prototest.All], seed%2 == 0
		if keep {
			make = protobuf.Keep[prototest.All]
		}
		mask, err := make(p.text(""))
		if err != nil {
			t.Fatalf("%d: %v of %s", seed, err, p.text(""))
		}
		before := wire(t, msg)
		mask.Apply(msg)
		masked(their.ProtoReflect(), p, keep)
		if want, err := official.Marshal(their); err != nil || !bytes.Equal(wire(t, msg), want) {
			t.Fatalf("%d: keep %v, %s: %v\nwant %v", seed, keep, p.text(""), protobuf.String(msg), their)
		}
		if !bytes.Equal(wire(t, msg), before) {
			changed++
		}
		once := wire(t, msg)
		if mask.Apply(msg); !bytes.Equal(wire(t, msg), once) {
			t.Fatalf("%d: the second time it does more", seed)
		}
	}
	if changed < 80 {
		t.Errorf("%d masks have changed something: there are too few", changed)
	}
}

// TestMaskErrors has paths that do not fit.
func TestMaskErrors(t *testing.T) {
	for text, want := range map[string]protobuf.MaskError{
		"none":             {Path: "none"},
		"leaf.none":        {Path: "leaf.none"},
		"leaf.id.x":        {Path: "leaf.id.x"},
		"i32,leaf.":        {Path: "leaf."},
		"self.lself.i32.a": {Path: "self.lself.i32.a"},
		"either_leaf":      {Path: "either_leaf"}, // its oneof is named first
		"either.m1":        {Path: "either.m1"},
		"mss.key":          {Path: "mss.key"},
		"Leaf":             {Path: "Leaf"},
	} {
		for _, make := range []func(string) (*protobuf.Mask[prototest.All], error){protobuf.Keep[prototest.All], protobuf.Drop[prototest.All]} {
			_, err := make(text)
			bad, ok := errors.AsType[*protobuf.MaskError](err)
			if !ok || bad.Path != want.Path || bad.Why == "" || err.Error() != "protobuf: mask "+bad.Path+": "+bad.Why {
				t.Errorf("%q: %v, want %s", text, err, want.Path)
			}
		}
	}
	type odd struct {
		A chan int `proto:"1,int64"`
	}
	if _, err := protobuf.Keep[odd]("a"); err == nil {
		t.Error("a type that cannot be a message has a mask")
	}
	// What is required stays, wherever it is, and cannot be dropped.
	keep, err := protobuf.Keep[prototest.Old]("part.size, needs.old.text")
	if err != nil {
		t.Fatal(err)
	}
	msg := new(prototest.Old)
	prototest.NewFiller(3).Message(msg)
	msg.Part = &prototest.OldPart{Size: proto.Int64(5), Live: proto.Bool(true), Inner: []*prototest.OldPartInner{{}}}
	if keep.Apply(msg); msg.ID == nil || msg.Last == nil || msg.Part.Live == nil || msg.Part.Size == nil || msg.Part.Inner != nil || msg.Loose != nil {
		t.Errorf("%v", protobuf.String(msg))
	}
	if _, err := protobuf.Marshal(msg); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"id", "part.live", "named.value", "next.needs.old.last"} {
		if _, err := protobuf.Drop[prototest.Old](text); err == nil {
			t.Errorf("%s is required, and dropped", text)
		}
	}
}
