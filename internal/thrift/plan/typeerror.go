package plan

import (
	"reflect"
	"unsafe"
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

// Placed gives err, with which encoding msg has failed, its place in the message at p, where the
// encoder knew none: it looks for it only now.
//
// To carry a path along would cost every encode that succeeds. The walk that finds it may
// come upon another fault first, such as one in a field that the encode had not reached;
// then the error stays without a place rather than getting a wrong one.
func Placed(pl *Plan, p unsafe.Pointer, err error) error {
	e, ok := err.(*TypeError)
	if !ok || e.Field != "" {
		return err
	}
	bad := pl.Validate(p)
	if bad == nil || bad.Why != e.Why {
		return err
	}
	x := *e
	x.Path = bad.Path
	return &x
}
