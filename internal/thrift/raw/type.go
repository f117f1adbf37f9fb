package raw

import "strconv"

// A Type is the byte that names a value's kind on the wire.
type Type uint8

// The types of the Binary protocol. Both i8 and byte are one type; an enum is an
// i32; string and binary are one; unions and exceptions are structs.
const (
	TypeStop   Type = 0 // the end of a struct's fields
	TypeBool   Type = 2
	TypeI8     Type = 3
	TypeDouble Type = 4
	TypeI16    Type = 6
	TypeI32    Type = 8
	TypeI64    Type = 10
	TypeString Type = 11
	TypeStruct Type = 12
	TypeMap    Type = 13
	TypeSet    Type = 14
	TypeList   Type = 15
	TypeUUID   Type = 16
)

var typeNames = [...]string{
	TypeStop: "stop", TypeBool: "bool", TypeI8: "i8", TypeDouble: "double", TypeI16: "i16", TypeI32: "i32", TypeI64: "i64",
	TypeString: "string", TypeStruct: "struct", TypeMap: "map", TypeSet: "set", TypeList: "list", TypeUUID: "uuid",
}

// String gives Thrift's word for it.
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}
