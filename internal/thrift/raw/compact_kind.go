package raw

import "encoding/binary"

// A CompactKind is the half byte that names a value's kind in the Compact
// protocol.
type CompactKind uint8

// The kinds.
const (
	CompactStop   CompactKind = 0
	CompactTrue   CompactKind = 1 // also a bool as element
	CompactFalse  CompactKind = 2
	CompactI8     CompactKind = 3
	CompactI16    CompactKind = 4
	CompactI32    CompactKind = 5
	CompactI64    CompactKind = 6
	CompactDouble CompactKind = 7
	CompactString CompactKind = 8
	CompactList   CompactKind = 9
	CompactSet    CompactKind = 10
	CompactMap    CompactKind = 11
	CompactStruct CompactKind = 12
	CompactUUID   CompactKind = 13
)

// CompactOf gives the kind that a type is written as; of a bool field it is
// the one for true.
var CompactOf = [...]CompactKind{
	TypeBool: CompactTrue, TypeI8: CompactI8, TypeI16: CompactI16, TypeI32: CompactI32, TypeI64: CompactI64,
	TypeDouble: CompactDouble, TypeString: CompactString, TypeList: CompactList, TypeSet: CompactSet,
	TypeMap: CompactMap, TypeStruct: CompactStruct, TypeUUID: CompactUUID,
}

// CompactTypes is the way back; 0 is for what is no kind of values.
var CompactTypes = [16]Type{
	CompactTrue: TypeBool, CompactFalse: TypeBool, CompactI8: TypeI8, CompactI16: TypeI16, CompactI32: TypeI32,
	CompactI64: TypeI64, CompactDouble: TypeDouble, CompactString: TypeString, CompactList: TypeList,
	CompactSet: TypeSet, CompactMap: TypeMap, CompactStruct: TypeStruct, CompactUUID: TypeUUID,
}

// A CompactHead is the header of a field; its id is told by how far it is from
// the one before in the same struct.
//
// On the wire it is one byte, distance and kind in four bits each, where the distance is
// 1 to 15; else the kind alone, and the id behind it as a zigzag varint
// (thrift-compact-protocol.md of Apache Thrift, "Struct encoding"). The zero value is
// what stands before the first field of a struct.
type CompactHead struct {
	Kind CompactKind
	id   int16
}

// Tag is it as a plan has it.
//
// Both kinds of a bool are one type: the value is in the header.
func (h *CompactHead) Tag() uint32 {
	return uint32(CompactTypes[h.Kind])<<16 | uint32(uint16(h.id))
}

// Read reads the header at b[o:] that comes after h.
//
// With Short end is the least length that b needs, and h must not be read again from the
// same place: its kind may have changed. An id that overflows 16 bits wraps, as in
// Apache's libraries.
func (h *CompactHead) Read(b []byte, o int) (int, Fault) {
	if o >= len(b) {
		return o + 1, Short
	}
	c := b[o]
	if h.Kind = CompactKind(c & 15); h.Kind == CompactStop {
		return o + 1, Fine // whatever the other half says, as in Apache's libraries
	}
	if CompactTypes[h.Kind] == 0 {
		return o, BadType
	}
	if delta := c >> 4; delta != 0 {
		h.id += int16(delta)
		return o + 1, Fine
	}
	v, end, f := Uvarint(b, o+1)
	h.id = int16(Unzigzag(v))
	return end, f
}

// AppendCompactHead appends the header of a field.
//
// last is the id of the field before in the same struct, 0 for the first. Ids that go
// down, or by more than 15 up, take the long form.
func AppendCompactHead(b []byte, kind CompactKind, id, last int16) []byte {
	if delta := int(id) - int(last); delta > 0 && delta < 16 {
		return append(b, byte(delta)<<4|byte(kind))
	}
	return binary.AppendUvarint(append(b, byte(kind)), Zigzag(int64(id)))
}

// CompactBool is a bool as element.
//
// Apache's specification has 1 and 2; older texts of it had 0 for false, and some writers
// send that. Readers take all that is not 1 for false.
func CompactBool(v bool) byte {
	if v {
		return byte(CompactTrue)
	}
	return byte(CompactFalse)
}
