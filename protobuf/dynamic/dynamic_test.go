package dynamic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/protoidl"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/known"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/pb"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/protobuf/dynamic"
	"github.com/limosa-rpc/limosa/rpc"
)

var (
	ordered  = protobuf.Codec{Deterministic: true, MaxDepth: 10_000}
	official = proto.MarshalOptions{Deterministic: true}
	deep     = rpc.Limits{Depth: 10_000}.WithDefaults() // what the official run time takes
)

// A trio is one message by three ways: a Go struct, the official run time, and at run time.
type trio struct {
	name  string
	ours  func() any
	their func() proto.Message
}

func trios() []trio {
	return []trio{
		{"prototest.All", func() any { return new(prototest.All) }, func() proto.Message { return new(pb.All) }},
		{"prototest.Old", func() any { return new(prototest.Old) }, func() proto.Message { return new(pb.Old) }},
		{"prototest.Known", func() any { return new(known.Known) }, func() proto.Message { return new(pb.Known) }},
	}
}

// schemaOf reads files, given as descriptors.
func schemaOf(t testing.TB, files ...protoreflect.FileDescriptor) *idl.Schema {
	t.Helper()
	set, seen := new(descriptorpb.FileDescriptorSet), map[string]bool{}
	var names []string
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range files {
		add(f)
		names = append(names, f.Path())
	}
	schema, err := protoidl.Reader{}.Schema(set, names...)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// schemaText is schemaOf for a file in the text format of its descriptor.
func schemaText(t testing.TB, text string) *idl.Schema {
	t.Helper()
	fd := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(text), fd); err != nil {
		t.Fatal(err)
	}
	schema, err := protoidl.Reader{}.Schema(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{fd}}, fd.GetName())
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func typesOf(t testing.TB, schema *idl.Schema) *dynamic.Types {
	t.Helper()
	types, err := dynamic.New(schema)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func testTypes(t testing.TB) *dynamic.Types {
	return typesOf(t, schemaOf(t, pb.File_all_proto, pb.File_old_proto, pb.File_known_proto))
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// TestOracle sends random messages through all three ways, in both formats.
func TestOracle(t *testing.T) {
	types, sent := testTypes(t), 0
	for _, p := range trios() {
		for seed := range uint64(80) {
			r := prototest.NewFiller(seed)
			r.Depth = 1 + int(seed%3)
			ours := p.ours()
			r.Message(ours)
			if x, ok := ours.(*known.Known); ok {
				x.Any, x.Anys = &known.Any{TypeUrl: "type.googleapis.com/prototest.Leaf", Value: []byte("\x08\x05")}, nil
			}
			b, err := ordered.AppendBytes(nil, ours)
			if err != nil {
				t.Fatal(err)
			}
			msg := types.New(p.name)
			if err := (protobuf.Codec{}).Decode(buf.ViewOf(b), msg, deep); err != nil {
				t.Fatalf("%s %d: %v", p.name, seed, err)
			}
			if got, err := ordered.AppendBytes(nil, msg); err != nil || !bytes.Equal(got, b) {
				t.Fatalf("%s %d: %v\n%.60x\n%.60x", p.name, seed, err, got, b)
			}
			their := p.their()
			if err := proto.Unmarshal(b, their); err != nil {
				t.Fatal(err)
			}
			text, err := msg.MarshalJSON()
			want, bad := protojson.Marshal(their)
			if (err == nil) != (bad == nil) {
				t.Fatalf("%s %d: %v, the official run time says %v", p.name, seed, err, bad)
			}
			if err != nil {
				continue
			}
			sent++
			if !sameJSON(t, text, want) {
				t.Fatalf("%s %d:\n%s\n%s", p.name, seed, text, want)
			}
			back, again := types.New(p.name), p.their()
			if err := types.JSON().Decode(buf.ViewOf(want), back, deep); err != nil {
				t.Fatalf("%s %d: %v", p.name, seed, err)
			}
			if err := protojson.Unmarshal(text, again); err != nil {
				t.Fatal(err)
			}
			got, err := ordered.AppendBytes(nil, back)
			if wire, bad := official.Marshal(again); err != nil || bad != nil || !bytes.Equal(got, wire) {
				t.Fatalf("%s %d: %v %v\n%.60x\n%.60x", p.name, seed, err, bad, got, wire)
			}
		}
	}
	if sent < 100 {
		t.Errorf("only %d messages could be sent as JSON", sent)
	}
}

// TestPrefixes decodes every begin of a message, as static types do.
func TestPrefixes(t *testing.T) {
	types := testTypes(t)
	for _, p := range trios() {
		r := prototest.NewFiller(3)
		r.Depth, r.Many = 1, 2
		ours := p.ours()
		r.Message(ours)
		b, err := ordered.AppendBytes(nil, ours)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(b) {
			sameDecode(t, types, p, b[:n])
		}
	}
}

// sameDecode decodes bytes by all three ways, and compares what comes of it.
func sameDecode(t *testing.T, types *dynamic.Types, p trio, b []byte) {
	t.Helper()
	ours, msg := p.ours(), types.New(p.name)
	saved := bytes.Clone(b)
	want := protobuf.Codec{}.Decode(buf.ViewOf(b), ours, deep)
	err := protobuf.Codec{}.Decode(buf.ViewOf(b), msg, deep)
	if !bytes.Equal(b, saved) {
		t.Fatal("the body was written to")
	}
	if (err == nil) != (want == nil) {
		t.Fatalf("%.60x: %v, and as a struct %v", b, err, want)
	}
	their := p.their()
	bad := proto.Unmarshal(b, their)
	if err != nil {
		var syntax, same *protobuf.SyntaxError
		if !errors.As(err, &syntax) || !errors.As(want, &same) || syntax.Offset != same.Offset || syntax.Why != same.Why || fieldIn(syntax) != fieldIn(same) {
			t.Fatalf("%.60x: %v, and as a struct %v", b, err, want)
		}
		// Within groups that are unknown the official run time takes numbers that no field can have.
		if bad == nil && !strings.Contains(syntax.Why, "field number") && !strings.Contains(syntax.Why, "more memory") {
			t.Fatalf("%.60x: %v, which the official run time takes", b, err)
		}
		return
	}
	if bad != nil {
		t.Fatalf("%.60x: taken, and the official run time says %v", b, bad)
	}
	x, err := ordered.AppendBytes(nil, msg)
	y, bad := official.Marshal(their) // it keeps unknown fields, as not all structs of these tests do
	if err != nil || bad != nil || !bytes.Equal(x, y) {
		t.Fatalf("%.60x: %v %v\n%.60x\n%.60x", b, err, bad, x, y)
	}
	if !protobuf.Equal(msg, protobuf.Clone(msg)) {
		t.Fatalf("%.60x: its clone is another message", b)
	}
	text, err := msg.MarshalJSON()
	if err != nil {
		return // not all that can be sent has a form in JSON
	}
	back := types.New(p.name)
	if err := types.JSON().Decode(buf.ViewOf(text), back, deep); err != nil && !strings.Contains(err.Error(), "more memory") && !strings.Contains(err.Error(), "too deeply") {
		t.Fatalf("%v\n%s", err, text)
	}
}

// fieldIn is the field that an error names, without the message, which Go calls otherwise.
func fieldIn(e *protobuf.SyntaxError) string { return e.Path[strings.IndexByte(e.Path, '.')+1:] }

// FuzzDynamic gives all three anything.
func FuzzDynamic(f *testing.F) {
	types := testTypes(f)
	for i, p := range trios() {
		for seed := range uint64(10) {
			r := prototest.NewFiller(seed)
			r.Depth, r.Many = 2, 2
			msg := p.ours()
			r.Message(msg)
			b, err := ordered.AppendBytes(nil, msg)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), b)
			f.Add(uint8(i), b[:min(len(b)/2, 100)])
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) { sameDecode(t, types, trios()[int(which)%3], b) })
}

// FuzzJSON gives texts to this package and the official run time: what is taken has to mean the same.
func FuzzJSON(f *testing.F) {
	types := testTypes(f)
	for i, p := range trios() {
		for seed := range uint64(10) {
			r := prototest.NewFiller(seed)
			r.Depth, r.Many = 1, 2
			msg := p.ours()
			r.Message(msg)
			if text, err := protobuf.MarshalJSON(msg); err == nil {
				f.Add(uint8(i), text)
			}
		}
	}
	f.Add(uint8(2), []byte(`{"any":{"@type":"a/google.protobuf.Value","value":[1,null,{"a":true}]}}`))
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		p := trios()[int(which)%3]
		msg, their := types.New(p.name), p.their()
		if types.JSON().Decode(buf.ViewOf(text), msg, nil) != nil {
			return // what is refused, the oracle of static types compares
		}
		if protojson.Unmarshal(text, their) != nil {
			return
		}
		got, err := ordered.AppendBytes(nil, msg)
		want, bad := official.Marshal(their)
		if err != nil || bad != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v %v\n%.60x\n%.60x", err, bad, got, want)
		}
	})
}
