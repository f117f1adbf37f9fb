package shape

// A MapLayout names a map whose layout is that of a map type of Go's plain types, so
// that codecs can go through it at the speed of typed code: a map does not know its
// type. The number in a name is the size of a number in bytes, Pointer is a pointer of any
// type, a map too, and Slice a slice of any type. OtherMap is none of them: then reflection
// does it, at 1.6 to 4 times the cost.
type MapLayout uint8

// The layouts.
const (
	OtherMap MapLayout = iota
	StringString
	StringPointer
	StringSlice
	String8
	String4
	String1
	Map4String
	Map4Pointer
	Map4Slice
	Map4x8
	Map4x4
	Map8String
	Map8Pointer
	Map8Slice
	Map8x8
	Map8x4
)

// mapLayout finds the layout for a key and a value. A named int32 has int32's
// layout and hash function; a map of pointers to structs or of maps is one of
// pointers; all slices are alike. Floats are hashed in a way of their own.
func mapLayout(key, value *Type) MapLayout {
	type pair struct{ key, value Kind }
	if key.Kind.Float() {
		return OtherMap
	}
	return map[pair]MapLayout{
		{String, String}: StringString, {String, Ref}: StringPointer, {String, List}: StringSlice,
		{String, Int64}: String8, {String, Int32}: String4, {String, Int8}: String1,
		{Int32, String}: Map4String, {Int32, Ref}: Map4Pointer, {Int32, List}: Map4Slice, {Int32, Int64}: Map4x8, {Int32, Int32}: Map4x4,
		{Int64, String}: Map8String, {Int64, Ref}: Map8Pointer, {Int64, List}: Map8Slice, {Int64, Int64}: Map8x8, {Int64, Int32}: Map8x4,
	}[pair{key.Kind.layout(), value.Kind.layout()}]
}

// layout gives the one kind that stands for all of the same layout.
func (k Kind) layout() Kind {
	switch k {
	case Bool:
		return Int8
	case Uint32, Float32:
		return Int32
	case Uint64, Float64:
		return Int64
	case Map:
		return Ref
	case Bytes, Set, Pairs:
		return List
	}
	return k
}
