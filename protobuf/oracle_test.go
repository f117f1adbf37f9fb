package protobuf_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/made"
	"github.com/limosa-rpc/limosa/internal/protobuf/prototest/pb"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
)

var (
	ordered  = protobuf.Codec{Deterministic: true, MaxDepth: 10_000}
	official = proto.MarshalOptions{Deterministic: true}
	deep     = rpc.Limits{Depth: 10_000}.WithDefaults() // what the official run time takes
)

// A pair is one message in both run times.
type pair struct {
	name  string
	ours  func() any
	their func() proto.Message
}

func pairs() []pair {
	return []pair{
		{"All", func() any { return new(prototest.All) }, func() proto.Message { return new(pb.All) }},
		{"Old", func() any { return new(prototest.Old) }, func() proto.Message { return new(pb.Old) }},
		{"Leaf", func() any { return new(prototest.Leaf) }, func() proto.Message { return new(pb.Leaf) }},
	}
}

// withMade are those with generated methods too.
func withMade() []pair {
	return append(pairs(), []pair{
		{"made.All", func() any { return new(made.All) }, func() proto.Message { return new(pb.All) }},
		{"made.Old", func() any { return new(made.Old) }, func() proto.Message { return new(pb.Old) }},
		{"made.Leaf", func() any { return new(made.Leaf) }, func() proto.Message { return new(pb.Leaf) }},
	}...)
}

// TestOracle encodes random messages by both run times and decodes them by the other one.
func TestOracle(t *testing.T) {
	for _, p := range withMade() {
		for seed := range uint64(100) {
			r := prototest.NewFiller(seed)
			if seed%10 == 0 {
				r.Depth, r.Many = 1, 40
			}
			ours := p.ours()
			r.Message(ours)
			b, err := ordered.AppendBytes(nil, ours)
			if err != nil {
				t.Fatalf("%s %d: %v", p.name, seed, err)
			}
			their := p.their()
			if err := proto.Unmarshal(b, their); err != nil {
				t.Fatalf("%s %d: the official run time does not take %x: %v", p.name, seed, b, err)
			}
			same(t, p.name, reflect.ValueOf(ours), reflect.ValueOf(their))
			want, err := official.Marshal(their)
			if err != nil || !bytes.Equal(b, want) {
				t.Fatalf("%s %d: %x, want %x, %v", p.name, seed, b, want, err)
			}
			for _, opts := range []proto.MarshalOptions{official, {}} {
				wire, err := opts.Marshal(their)
				if err != nil {
					t.Fatal(err)
				}
				back := p.ours()
				if err := (protobuf.Codec{}).Decode(buf.ViewOf(wire), back, deep); err != nil {
					t.Fatalf("%s %d: %v", p.name, seed, err)
				}
				same(t, p.name, reflect.ValueOf(back), reflect.ValueOf(their))
				if again, err := ordered.AppendBytes(nil, back); err != nil || !bytes.Equal(again, b) {
					t.Fatalf("%s %d: %x after a round trip, want %x, %v", p.name, seed, again, b, err)
				}
			}
		}
	}
}

// same compares a message with one of the official run time, field by field.
func same(t *testing.T, path string, ours, their reflect.Value) {
	t.Helper()
	if their.Kind() == reflect.Pointer && ours.Kind() != reflect.Pointer && !their.IsNil() { // what is required
		their = their.Elem()
	}
	switch ours.Kind() {
	case reflect.Pointer, reflect.Interface:
		if ours.IsNil() || their.IsNil() {
			if ours.IsNil() != their.IsNil() {
				t.Fatalf("%s: nil %v, want nil %v", path, ours.IsNil(), their.IsNil())
			}
			return
		}
		same(t, path, ours.Elem(), their.Elem())
	case reflect.Struct:
		for i := range ours.NumField() {
			f := ours.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			x := their.FieldByNameFunc(func(s string) bool { return strings.EqualFold(strings.ReplaceAll(s, "_", ""), f.Name) })
			if f.Name == "Value" && their.NumField() == 1 { // of a oneof
				x = their.Field(0)
			}
			if !x.IsValid() {
				t.Fatalf("%s has no %s", their.Type(), f.Name)
			}
			same(t, path+"."+f.Name, ours.Field(i), x)
		}
	case reflect.Slice:
		if ours.Len() != their.Len() {
			t.Fatalf("%s: %d elements, want %d", path, ours.Len(), their.Len())
		}
		for i := range ours.Len() {
			same(t, path+"[]", ours.Index(i), their.Index(i))
		}
	case reflect.Map:
		if ours.Len() != their.Len() {
			t.Fatalf("%s: %d entries, want %d", path, ours.Len(), their.Len())
		}
		for it := ours.MapRange(); it.Next(); {
			x := their.MapIndex(it.Key())
			if !x.IsValid() {
				t.Fatalf("%s: a key %v", path, it.Key())
			}
			same(t, path+"{}", it.Value(), x)
		}
	case reflect.Float32, reflect.Float64:
		if math.Float64bits(ours.Float()) != math.Float64bits(their.Float()) {
			t.Fatalf("%s: %v, want %v", path, ours, their)
		}
	default:
		if !ours.Equal(their.Convert(ours.Type())) {
			t.Fatalf("%s: %v, want %v", path, ours, their)
		}
	}
}

// FuzzOracle gives both run times anything: they have to take the same, and to make the same bytes
// of what they took.
func FuzzOracle(f *testing.F) {
	for i, p := range withMade() {
		for seed := range uint64(20) {
			r := prototest.NewFiller(seed)
			r.Depth, r.Many = 2, 2
			msg := p.ours()
			r.Message(msg)
			b, err := ordered.AppendBytes(nil, msg)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), b)
			if len(b) > 200 { // small seeds mutate best
				f.Add(uint8(i), b[:min(len(b)/2, 100)])
			}
		}
	}
	for _, s := range []string{
		"\x8a\x01\x02\x08\x01\x8a\x01\x02\x12\x00",             // a message that comes twice
		"\xba\x7d\x02\x08\x01\xba\x7d\x02\x12\x00\xa8\x7d\x05", // a oneof of which one comes twice, and another one
		"\xa8\x01\x01\xaa\x01\x02\x02\x03\xa8\x01\x04",         // a list packed and not
		"\xea\x03\x00\xea\x03\x03\x0a\x01a\xea\x03\x03\x12\x01b",
	} {
		f.Add(uint8(0), []byte(s))
		f.Add(uint8(3), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		agree(t, withMade()[int(which)%len(withMade())], b)
	})
}

// agree gives bytes to both run times.
func agree(t *testing.T, p pair, b []byte) {
	t.Helper()
	their, ours := p.their(), p.ours()
	saved := bytes.Clone(b)
	bad := proto.Unmarshal(b, their)
	err := protobuf.Codec{}.Decode(buf.ViewOf(b), ours, deep)
	if !bytes.Equal(b, saved) {
		t.Fatal("the body was written to")
	}
	if err != nil {
		var syntax *protobuf.SyntaxError
		if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset < 0 || syntax.Offset > len(b) {
			t.Fatal(err)
		}
		// Within groups that are unknown the official run time takes numbers that no field can have.
		if bad == nil && !strings.Contains(syntax.Why, "field number") && !strings.Contains(syntax.Why, "more memory") {
			t.Fatalf("%v, which the official run time takes", err)
		}
		return
	}
	if bad != nil {
		t.Fatalf("taken, and the official run time says %v", bad)
	}
	got, err := ordered.AppendBytes(nil, ours)
	want, bad := official.Marshal(their)
	if err != nil || bad != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v %v\n%x\n%x", err, bad, got, want)
	}
	again := p.ours()
	if err := (protobuf.Codec{}).Decode(buf.ViewOf(got), again, deep); err != nil || !protobuf.Equal(again, ours) {
		t.Fatalf("decoded, encoded and not decoded to the same: %v", err)
	}
}
