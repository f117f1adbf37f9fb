package raw

import (
	"strconv"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/rpc"
)

// A SyntaxError says where bytes are not Protobuf, or not a message of the type that they are
// decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
type SyntaxError struct {
	Offset int    // of the first byte that is wrong, from the begin of what was parsed
	Path   string // type and field at hand, if known; the field by its name in the IDL
	Why    string
}

// Error gives all three.
func (e *SyntaxError) Error() string {
	at := ""
	if e.Path != "" {
		at = " in " + e.Path
	}
	return "protobuf: " + e.Why + at + " at offset " + strconv.Itoa(e.Offset)
}

// Unwrap gives the code.
func (e *SyntaxError) Unwrap() error { return rpc.InvalidArgument }

// A Fault is what a parser on the fast path returns instead of an error: it costs nothing and
// becomes a SyntaxError where the offset is known.
type Fault uint8

// The faults; Fine is none.
const (
	Fine Fault = iota
	Short
	BadTag
	BadWire
	BadGroup
	NoEnd
	TooDeep
	TooLarge
	TooCostly
	Missing
	LongNumber
	BadText
)

var faults = [...]string{
	Short: "truncated", BadTag: "field number 0 or above 536,870,911", BadWire: "unknown wire type",
	BadGroup: "end of a group that did not begin", NoEnd: "group without its end",
	TooDeep: "nested too deeply", TooLarge: "length beyond the end", TooCostly: codec.WhyCostly,
	Missing: "required field is missing", LongNumber: "number of more than 64 bits", BadText: "string that is not UTF-8",
}

// At makes the error of a fault at an offset.
func (f Fault) At(offset int) error { return &SyntaxError{Offset: offset, Why: faults[f]} }

// Why says what it means.
func (f Fault) Why() string { return faults[f] }
