package raw

import (
	"errors"
	"strconv"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/rpc"
)

// ErrShort says that the bytes so far are the beginning of something right and
// that more are needed to tell.
var ErrShort = errors.New("thrift: more bytes are needed")

// A SyntaxError says where bytes are not Thrift, or not of the type that they
// are decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
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
	return "thrift: " + e.Why + at + " at offset " + strconv.Itoa(e.Offset)
}

// Unwrap gives the code.
func (e *SyntaxError) Unwrap() error { return rpc.InvalidArgument }

// A Fault is what a parser on the fast path returns instead of an error: it
// costs nothing and becomes a SyntaxError where the offset is known.
type Fault uint8

// The faults; Fine is none.
const (
	Fine Fault = iota
	Short
	BadType
	TooDeep
	Negative
	TooLarge
	TooCostly
	Missing
	Trailing
	WrongType
	longNumber
)

var faults = [...]string{
	Short: "truncated", BadType: "unknown wire type", TooDeep: "nested too deeply", Negative: "negative size",
	TooLarge: "size beyond the end", TooCostly: codec.WhyCostly, Missing: "required field is missing",
	Trailing: "bytes after the end", WrongType: "element of another type",
	longNumber: "number of more than ten bytes",
}

// At makes the error of a fault at an offset.
func (f Fault) At(offset int) error { return &SyntaxError{Offset: offset, Why: faults[f]} }

// Why says what it means.
func (f Fault) Why() string { return faults[f] }
