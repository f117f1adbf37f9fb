package raw

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// AnyAbove1 looks at eight bytes at once: no position and no length may be overlooked.
func TestAnyAbove1(t *testing.T) {
	for n := range 40 {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i & 1)
		}
		if AnyAbove1(p) {
			t.Fatalf("%x has only 0 and 1", p)
		}
		for i := range p {
			for _, c := range []byte{2, 3, 0x80, 0xfe, 0xff} {
				old := p[i]
				if p[i] = c; !AnyAbove1(p) {
					t.Fatalf("%d of %d bytes is %#x", i, n, c)
				}
				p[i] = old
			}
		}
	}
}

// TestOddBoolsByPlace has a bool in each place where one can be, odd in turn, and things
// beside it that look like one.
func TestOddBoolsByPlace(t *testing.T) {
	for name, tt := range map[string]struct {
		typ   Type
		bytes string
		bools []int // where they are
	}{
		"a bool":                  {TypeBool, "01", []int{0}},
		"an i8 is none":           {TypeI8, "07", nil},
		"a text is none":          {TypeString, "00000003 020202", nil},
		"a field":                 {TypeStruct, "02 0001 01 00", []int{3}},
		"behind all sizes":        {TypeStruct, "03 0001 07 06 0002 0707 04 0003 0707070707070707 0b 0004 00000001 07 02 0005 00 00", []int{31}},
		"a list":                  {TypeList, "02 00000003 010001", []int{5, 6, 7}},
		"an empty list":           {TypeList, "02 00000000", nil},
		"a list without a type":   {TypeList, "00 00000000", nil},
		"a list of i8":            {TypeList, "03 00000002 0707", nil},
		"a set of lists":          {TypeSet, "0f 00000002 02 00000001 01 02 00000001 00", []int{10, 16}},
		"a map's keys":            {TypeMap, "02 03 00000002 01 07 00 07", []int{6, 8}},
		"a map's values":          {TypeMap, "03 02 00000002 07 01 07 00", []int{7, 9}},
		"behind texts":            {TypeMap, "0b 02 00000001 00000002 0707 01", []int{12}},
		"a map of fixed sizes":    {TypeMap, "03 08 00000001 07 07070707", nil},
		"a UUID is none":          {TypeUUID, "07070707070707070707070707070707", nil},
		"a struct within structs": {TypeStruct, "0c 0001 0c 0001 02 0001 01 00 00 02 0002 01 00", []int{9, 15}},
	} {
		p := unhex(t, tt.bytes)
		if Odd(p, 0, tt.typ) {
			t.Errorf("%s: odd as it is", name)
		}
		for _, at := range tt.bools {
			odd := bytes.Clone(p)
			odd[at] = 7
			want := bytes.Clone(p)
			want[at] = 0
			if !Odd(odd, 0, tt.typ) {
				t.Errorf("%s: %d is not found", name, at)
			}
			if end := Tame(odd, 0, tt.typ); end != len(p) || !bytes.Equal(odd, want) {
				t.Errorf("%s: %x up to %d; want %x", name, odd, end, want)
			}
		}
		if end := Tame(p, 0, tt.typ); end != len(p) || !bytes.Equal(p, unhex(t, tt.bytes)) {
			t.Errorf("%s: it became %x, up to %d", name, p, end)
		}
		if len(tt.bools) > 0 && !MayHoldBools(tt.typ) {
			t.Errorf("%s: %v may hold bools", name, tt.typ)
		}
	}
}

func TestMayHoldBools(t *testing.T) {
	for _, typ := range []Type{TypeI8, TypeDouble, TypeI16, TypeI32, TypeI64, TypeString, TypeUUID} {
		if MayHoldBools(typ) {
			t.Errorf("%v holds none", typ)
		}
	}
	for _, typ := range []Type{TypeBool, TypeStruct, TypeMap, TypeSet, TypeList} {
		if !MayHoldBools(typ) {
			t.Errorf("%v may hold some", typ)
		}
	}
}

// What is said of types by three tables is the same: what has a size has a least one, and
// what is a type of Binary has a kind of Compact that leads back to it.
func TestTablesAgree(t *testing.T) {
	for i := range 256 {
		typ := Type(i)
		known := Least[typ] != 0
		if Fixed[typ] != 0 && Fixed[typ] != Least[typ] {
			t.Errorf("%v has %d bytes, and %d at the least", typ, Fixed[typ], Least[typ])
		}
		kind := CompactStop
		if i < len(CompactOf) {
			kind = CompactOf[typ]
		}
		if known != (kind != CompactStop) || known && CompactTypes[kind] != typ {
			t.Errorf("%v is written as %d, which is read as %v", typ, kind, CompactTypes[kind])
		}
		if named := !strings.HasPrefix(typ.String(), "type("); named != (known || typ == TypeStop) {
			t.Errorf("%d is called %q", i, typ)
		}
	}
	for kind := range CompactTypes {
		if known := CompactTypes[kind] != 0; known != (compactLeast[kind] != 0) {
			t.Errorf("kind %d: type %v, %d bytes at the least", kind, CompactTypes[kind], compactLeast[kind])
		}
		if n := compactFixed[kind]; n != 0 && n != compactLeast[kind] {
			t.Errorf("kind %d has %d bytes, and %d at the least", kind, n, compactLeast[kind])
		}
	}
}

// Texts are for people and for golden files: each fault has one of its own.
func TestTexts(t *testing.T) {
	var seen []string
	for f := Short; f <= longNumber; f++ {
		why := f.Why()
		if why == "" || slices.Contains(seen, why) {
			t.Errorf("fault %d says %q", f, why)
		}
		seen = append(seen, why)
		if got, want := f.At(7).Error(), "thrift: "+why+" at offset 7"; got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	if got := (&SyntaxError{Offset: 3, Path: "User.name", Why: "truncated"}).Error(); got != "thrift: truncated in User.name at offset 3" {
		t.Error(got)
	}
	for typ, want := range map[Type]string{TypeStop: "stop", TypeI8: "i8", TypeUUID: "uuid", 1: "type(1)", 200: "type(200)"} {
		if typ.String() != want {
			t.Errorf("%q; want %q", typ, want)
		}
	}
	for typ, want := range map[MessageType]string{Call: "call", Reply: "reply", Exception: "exception", Oneway: "oneway", 9: "message type 9"} {
		if typ.String() != want {
			t.Errorf("%q; want %q", typ, want)
		}
	}
}
