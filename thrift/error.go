package thrift

import (
	"errors"
	"strconv"

	"github.com/limosa-rpc/limosa/rpc"
)

// ErrShort says that the bytes so far are the beginning of something right and
// that more are needed to tell.
var ErrShort = errors.New("thrift: more bytes are needed")

// A SyntaxError says where bytes are not Thrift, or not of the type that they
// are decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
type SyntaxError struct {
	Offset int    // of the first byte that is wrong, from the begin of what was parsed
	Path   string // the Go type and field at hand, if it is known
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

// A fault is what a parser on the fast path returns instead of an error: it
// costs nothing and becomes a SyntaxError where the offset is known.
type fault uint8

const (
	fine fault = iota
	short
	badType
	badBool
	tooDeep
	negative
	tooLarge
	tooCostly
	missing
	trailing
)

var faults = [...]string{
	short: "truncated", badType: "unknown wire type", tooDeep: "nested too deeply", negative: "negative size",
	tooLarge: "size beyond the end", tooCostly: "takes more memory than its size allows", missing: "required field is missing",
	trailing: "bytes after the end", badBool: "bool is neither 0 nor 1",
}

func (f fault) at(offset int) error { return &SyntaxError{Offset: offset, Why: faults[f]} }
