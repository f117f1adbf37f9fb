package thrift

import (
	"reflect"

	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

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

// A SyntaxError says where bytes are not Thrift, or not of the type that they
// are decoded into. rpc.CodeOf of it is rpc.InvalidArgument.
type SyntaxError = raw.SyntaxError
