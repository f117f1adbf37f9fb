package plan

import "reflect"

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

// ErrTooLong is the error for a string or container of 2 GB or more.
var ErrTooLong = &TypeError{Type: reflect.TypeFor[string](), Why: "longer than 2,147,483,647"}
