package thrift

import (
	"errors"
	"reflect"
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

// A fault is what a parser on the fast path returns instead of an error: it
// costs nothing and becomes a SyntaxError where the offset is known.
type fault uint8

const (
	fine fault = iota
	short
	badType
	tooDeep
	negative
	tooLarge
	tooCostly
	missing
	trailing
	wrongType
	longNumber
)

var faults = [...]string{
	short: "truncated", badType: "unknown wire type", tooDeep: "nested too deeply", negative: "negative size",
	tooLarge: "size beyond the end", tooCostly: "takes more memory than its size allows", missing: "required field is missing",
	trailing: "bytes after the end", wrongType: "element of another type",
	longNumber: "number of more than ten bytes",
}

func (f fault) at(offset int) error { return &SyntaxError{Offset: offset, Why: faults[f]} }

// A TypeError says why a Go type, or a value of it, cannot be a message. The
// codec gives it inside of an *rpc.Error with rpc.Internal.
type TypeError struct {
	Type  reflect.Type
	Field string // the Go field, if one is at fault
	Path  string // where in the message that is, such as items[3].price, by the names of the IDL; may be empty
	Why   string
}

// Error gives all of them.
func (e *TypeError) Error() string {
	name := "nil"
	if e.Type != nil {
		name = e.Type.String()
	}
	if e.Field != "" {
		name += "." + e.Field
	}
	if e.Path != "" {
		return "thrift: " + name + ": " + e.Path + " " + e.Why
	}
	return "thrift: " + name + ": " + e.Why
}

// placed gives err, with which encoding msg has failed, its place in msg, where the
// encoder knew none: it looks for it only now.
func placed(msg any, err error) error {
	e, ok := err.(*TypeError)
	if !ok || e.Field != "" {
		return err
	}
	bad, ok := Validate(msg).(*InvalidError)
	if !ok || bad.Why != e.Why {
		return err
	}
	x := *e
	x.Path = bad.Path
	return &x
}
