package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/rpc"
)

// A message is one that was made of a draft.
type message struct{ held shape.Held }

func (m *message) Made() shape.Held { return m.held }

// leafDraft has one field of each kind that refers to nothing.
func leafDraft() *Draft {
	d := &Draft{Name: "t.Leaf"}
	for i, word := range []string{
		"int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "float", "double", "bool", "string", "bytes",
	} {
		d.Fields = append(d.Fields, DraftField{Tag: fmt.Sprintf("%d,%s,name=%s", i+1, word, word)},
			DraftField{Tag: fmt.Sprintf("%d,%s,explicit,name=%s_may", i+21, word, word)},
			DraftField{Tag: fmt.Sprintf("%d,%s,name=%s_list", i+41, word, word), Repeated: true})
		if word != "string" && word != "bytes" {
			d.Fields = append(d.Fields, DraftField{Tag: fmt.Sprintf("%d,%s,packed,name=%s_packed", i+61, word, word), Repeated: true})
		}
	}
	return d
}

func madeOf(t *testing.T, d *Draft, others ...*Draft) *message {
	t.Helper()
	if err := Make(append(others, d)); err != nil {
		t.Fatal(err)
	}
	return &message{d.Plan().Hold()}
}

// Every kind of field comes back as it was on the wire, alone and in lists.
func TestDraftKinds(t *testing.T) {
	m := madeOf(t, leafDraft())
	value := map[raw.Wire]string{raw.Varint: "\x05", raw.Fixed32: "\x05\x00\x00\x00", raw.Fixed64: "\x05\x00\x00\x00\x00\x00\x00\x00", raw.Bytes: "\x02\x05\x05"}
	pl := m.held.Struct
	for _, o := range at(pl).fields {
		wire := string(raw.Append(nil, uint64(o.Tag)))
		switch v := value[raw.Wire(o.Tag&7)]; {
		case o.Do == Packed && o.Elem == Fixed32, o.Do == Packed && o.Elem == Fixed64:
			v = value[wires[o.Elem]]
			wire += string(append([]byte{byte(2 * len(v))}, v+v...))
		case o.Do == Packed && o.Elem == Bool:
			wire += "\x02\x01\x00"
		case o.Elem == Bool:
			wire += "\x01"
		case o.Do == List:
			wire += v + wire + v
		default:
			wire += v
		}
		if _, err := Decode(buf.ViewOf([]byte(wire)), m, nil, false); err != nil {
			t.Errorf("%x: %v", wire, err)
			continue
		}
		var out buf.Out
		if err := Append(&out, m, 0, true, false); err != nil || string(out.Bytes()) != wire {
			t.Errorf("%x became %x, %v", wire, out.Bytes(), err)
		}
		out.Reset()
	}
}

// Drafts that refer to each other and themselves make plans that do.
func TestDraftRing(t *testing.T) {
	leaf := leafDraft()
	ring := &Draft{Name: "t.Ring"}
	color := &shape.Enum{Title: "t.Color", Names: map[int32]string{0: "NONE", 3: "RED"}, Numbers: map[string]int32{"NONE": 0, "RED": 3}}
	ring.Fields = []DraftField{
		{Tag: "1,message,name=self", Of: ring},
		{Tag: "2,message,name=leaves", Of: leaf, Repeated: true},
		{Tag: "3,map(int64,message),name=by_id", Of: ring},
		{Tag: "oneof,name=what", Cases: []DraftField{{Tag: "4,group,name=part", Of: leaf}, {Tag: "5,enum,closed,name=color", Enum: color}, {Tag: "6,message,name=ring", Of: ring}}},
		{Tag: "7,enum,closed,packed,name=colors", Enum: color, Repeated: true},
		{Tag: "8,string,required,noutf8,name=text"},
	}
	m := madeOf(t, ring, leaf)
	const wire = "\x0a\x02\x42\x00\x12\x02\x08\x05\x12\x00\x1a\x06\x08\x07\x12\x02\x42\x00\x23\x08\x05\x24\x3a\x01\x03\x42\x01\xff"
	if _, err := Decode(buf.ViewOf([]byte(wire)), m, nil, false); err != nil {
		t.Fatal(err)
	}
	var out buf.Out
	if err := Append(&out, m, 0, true, false); err != nil || string(out.Bytes()) != wire {
		t.Errorf("%x, want %x, %v", out.Bytes(), wire, err)
	}
	out.Reset()
	// A number that has no name is an unknown field, of a oneof, too.
	if _, err := Decode(buf.ViewOf([]byte("\x28\x04\x42\x00")), m, nil, false); err != nil || string(*m.held.Struct.Kept(m.held.At)) != "\x28\x04" {
		t.Errorf("%x, %v", *m.held.Struct.Kept(m.held.At), err)
	}
	if _, err := Decode(buf.ViewOf([]byte("\x0a\x00\x42\x00")), m, nil, false); err == nil || !strings.HasSuffix(err.Error(), "required field is missing in Ring.text at offset 2") {
		t.Error(err)
	}
	var bad *TypeError
	m = &message{ring.Plan().Hold()}
	if err := Append(&out, m, 0, false, false); !errors.As(err, &bad) || bad.Error() != "protobuf: t.Ring.text: is required and nil" || rpc.CodeOf(err) != rpc.Internal {
		t.Error(err)
	}
}

func TestDraftErrors(t *testing.T) {
	for _, c := range []struct {
		field DraftField
		want  string
	}{
		{DraftField{Tag: "1,message,name=a"}, "t.M: a: the message is not known"},
		{DraftField{Tag: "1,map(string,message),name=a"}, "t.M: a: the message is not known"},
		{DraftField{Tag: "0,int32,name=a"}, "does not begin with a field's number"},
		{DraftField{Tag: "1,int,name=a"}, "which Protobuf does not have"},
		{DraftField{Tag: "1,int32"}, "is none of a field with a name"},
		{DraftField{Tag: "1,int32,name=a-b"}, "is none of a field with a name"},
		{DraftField{Tag: "1,int32,name=1a"}, "is none of a field with a name"},
		{DraftField{Tag: "unknown,name=a"}, "is none of a field with a name"},
		{DraftField{Tag: "1,string,packed,name=a", Repeated: true}, "only lists of numbers"},
		{DraftField{Tag: "1,int32,explicit,name=a", Repeated: true}, "neither explicit nor required"},
		{DraftField{Tag: "2,int32,name=a"}, "two fields have the number 2"},
		{DraftField{Tag: "oneof,name=o", Cases: []DraftField{{Tag: "2,int32,name=a"}}}, "two fields have the number 2"},
		{DraftField{Tag: "oneof,name=o", Cases: []DraftField{{Tag: "1,int32,name=a"}, {Tag: "1,int32,name=b"}}}, "two fields have the number 1"},
		{DraftField{Tag: "oneof,name=o", Cases: []DraftField{{Tag: "1,int32,explicit,name=a"}}}, "no presence of its own"},
		{DraftField{Tag: "oneof,name=o", Cases: []DraftField{{Tag: "1,message,name=a"}}}, "the message is not known"},
	} {
		err := Make([]*Draft{{Name: "t.M", Fields: []DraftField{{Tag: "2,int32,name=two"}, c.field}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.field.Tag, err)
		}
	}
}

// What no plan was made of has no name but that of its Go type.
func TestTitles(t *testing.T) {
	for v, want := range map[any]string{struct{ A_b int }{}: "struct { A_b int }", struct{}{}: "struct {}", 5: "int", message{}: "plan.message"} {
		if rt := reflect.TypeOf(v); titleOf(rt) != want || fieldOf(rt, "A_b") != "A_b" {
			t.Errorf("%s, %s", titleOf(rt), fieldOf(rt, "A_b"))
		}
	}
}
