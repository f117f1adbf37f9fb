package protobuf_test

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/limosa-rpc/limosa/protobuf"
)

// values are what stands behind a tag, by wire type: values at the edges, values of another field's kind, and some that
// are wrong.
var values = map[protowire.Type][]string{
	protowire.VarintType: {
		"\x00", "\x01", "\x7f", "\x80\x01", "\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\x0f", "\x80\x80\x80\x80\x10",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\x80\x80\x00",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\x80",
	},
	protowire.Fixed32Type: {"\x00\x00\x00\x00", "\x01\x02\x03\x04", "\x00\x00\x80\x7f", "\x00\x00\x00\x80", "\x01\x02\x03"},
	protowire.Fixed64Type: {"\x00\x00\x00\x00\x00\x00\x00\x00", "\x01\x02\x03\x04\x05\x06\x07\x08", "\x00\x00\x00\x00\x00\x00\x00\x80", "\x01\x02\x03\x04\x05\x06\x07"},
	protowire.BytesType: {
		"\x00", "\x01a", "\x02\xc3\xa9", "\x01\xff", "\x02\x08\x01", "\x02\x08\x02", "\x03\x0a\x01k", "\x03\x12\x01v", "\x06\x12\x01v\x0a\x01k",
		"\x04\x08\x03\x10\x04", "\x04\x10\x04\x08\x03", "\x06\x08\x01\x08\x02\x10\x05", "\x05\x0a\x01k\x12\x00", "\x07\x0a\x01k\x12\x02\x08\x07",
		"\x08\x01\x02\x03\x04\x05\x06\x07\x08", "\x04\x01\x02\x03\x04", "\x02\x80\x01", "\x01\x80", "\x80\x01", "\x05abc", "\x80\x00", "\x81\x00x",
		"\x08\x18\x09\x0a\x01k\x12\x01v", "\x04\x0b\x0c\x10\x01", "\x02\x0b\x0c", "\x02\x0b\x14", "\x01\x0b", "\x01\x0c",
	},
	protowire.StartGroupType: {"", "\x08\x01", "\x12\x01a", "\x0b\x0c", "\x0b\x08\x01\x0c", "\x0b", "\x0c", "\x07"},
	protowire.EndGroupType:   {""},
	6:                        {"", "\x00"},
	7:                        {"", "\x00\x00"},
}

// wires are all values of a field, right and wrong, behind its tag.
func wires(number protowire.Number) (all [][]byte) {
	for _, typ := range []protowire.Type{0, 1, 2, 3, 4, 5, 6, 7} {
		for _, v := range values[typ] {
			b := append(protowire.AppendVarint(nil, uint64(number)<<3|uint64(typ)), v...)
			if typ == protowire.StartGroupType {
				b = protowire.AppendTag(b, number, protowire.EndGroupType)
			}
			all = append(all, b)
		}
	}
	return all
}

// numbersOf are the fields of a message, and some that it does not have.
func numbersOf(m protoreflect.Message) []protowire.Number {
	list := []protowire.Number{19, 2047, 2048, 1<<29 - 1}
	for i := range m.Descriptor().Fields().Len() {
		list = append(list, m.Descriptor().Fields().Get(i).Number())
	}
	return list
}

// TestEveryWireType gives each field each value of each wire type, whole and cut off, to both run times.
func TestEveryWireType(t *testing.T) {
	for _, p := range withMade() {
		for _, n := range numbersOf(p.their().ProtoReflect()) {
			for _, b := range wires(n) {
				for end := range b {
					agree(t, p, b[:end])
				}
				agree(t, p, b)
			}
		}
	}
}

// TestEveryWireTypeTwice gives each field two values, one behind the other: the last one counts, lists go on, messages,
// and those in a oneof, are merged, whatever the first one was.
func TestEveryWireTypeTwice(t *testing.T) {
	for _, p := range withMade() {
		for _, n := range numbersOf(p.their().ProtoReflect()) {
			all := wires(n)
			for i, a := range all {
				for k := i % 5; k < len(all); k += 5 { // one pair in five
					agree(t, p, append(bytes.Clone(a), all[k]...))
				}
			}
		}
	}
}

// TestNeighbors has each field followed by the one before it and by the one behind it, so that generated code finds the
// order that it expects, and others; what is unknown comes between.
func TestNeighbors(t *testing.T) {
	for _, p := range withMade() {
		list := numbersOf(p.their().ProtoReflect())
		for i, n := range list {
			next := list[(i+1)%len(list)]
			for k, a := range wires(n) {
				others := wires(next)
				b := others[k%len(others)]
				agree(t, p, append(bytes.Clone(a), b...))
				agree(t, p, append(bytes.Clone(b), a...))
				between := append(bytes.Clone(a), "\x98\x06\x01"...)
				agree(t, p, append(append(between, b...), a...))
			}
		}
	}
}

// TestMadeEveryWireType holds generated code against the plan for the same, faults and their places too.
func TestMadeEveryWireType(t *testing.T) {
	for i, fresh := range generated() {
		m := withMade()[i].their().ProtoReflect()
		for _, n := range numbersOf(m) {
			before := []byte(nil)
			for _, b := range wires(n) {
				sameDecode(t, fresh, b, nil)
				sameDecode(t, fresh, append(bytes.Clone(before), b...), nil)
				before = b
			}
		}
	}
}

// TestErrorsHaveThePlace tells where in the message the first wrong byte is, and in which field, by the plan and by
// generated code.
func TestErrorsHaveThePlace(t *testing.T) {
	const good = "\x08\x01\x72\x03abc"
	for bad, want := range map[string]string{
		"\x08\x80":         "truncated in All.i32 at offset 8",
		"\x72\x05abc":      "length beyond the end in All.st at offset 8",
		"\x72\x01\xff":     "string that is not UTF-8 in All.st at offset 9",
		"\x41\x01":         "truncated in All.f64 at offset 8",
		"\x3d\x01":         "truncated in All.f32 at offset 8",
		"\x06":             "field number 0 or above 536,870,911 at offset 7",
		"\x0e\x00":         "unknown wire type at offset 8",
		"\x0c":             "end of a group that did not begin at offset 8",
		"\x8a\x01\x01\x08": "truncated in Leaf.id at offset 11",
	} {
		for _, p := range withMade() {
			if p.name != "All" && p.name != "made.All" {
				continue
			}
			err := protobuf.Unmarshal([]byte(good+bad), p.ours())
			if got := fmt.Sprint(err); got != "InvalidArgument: decode: protobuf: "+want {
				t.Errorf("%s %q: %s\nwant %s", p.name, bad, got, want)
			}
		}
	}
}
