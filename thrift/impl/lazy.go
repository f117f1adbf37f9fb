package impl

import (
	"github.com/limosa-rpc/limosa/internal/thrift/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
)

// An Input is what DecodeThrift is given.
type Input = plan.Input

// An Output is where EncodeThrift writes.
type Output = plan.Output

// A Result is what DecodeThrift gives.
type Result = plan.Result

// A Getter reads fields that are an i64, an i32 or an enum, a double, a bool or a string. It is
// an alias and has no functions beside it, so that generated getters stay small enough to be
// inlined.
type Getter = lazy.Getter

// LazyGet gives a field as a plain value, which refers to nothing of the
// message. Absent fields are zero. Anything but numbers is copied or decoded on every call.
func LazyGet[T any](x *lazy.Message, field int) T { return lazy.Get[T](x, field) }

// LazyOpt is LazyGet for optional fields; ok: the message has it.
func LazyOpt[T any](x *lazy.Message, field int) (v T, ok bool) { return lazy.Opt[T](x, field) }

// LazyInner makes v a view of a field that is a struct; false: it is not there.
// v stays on the stack if the view that it is in does not outlive its caller.
func LazyInner(x, v *lazy.Message, field int) bool { return lazy.Inner(x, v, field) }

// LazyNumberList gives a field that is a list or set of numbers.
func LazyNumberList[T lazy.Number](x *lazy.Message, field int) lazy.Numbers[T] {
	return lazy.NumbersOf[T](x, field)
}

// LazyListOf gives a field that is a list or set of anything but numbers and structs.
func LazyListOf[T any](x *lazy.Message, field int) lazy.List[T] { return lazy.ListOf[T](x, field) }

// LazyStructList gives a field that is a list or set of structs with views.
func LazyStructList[V any, P lazy.View[V]](x *lazy.Message, field int) lazy.Structs[V] {
	return lazy.StructsOf[V, P](x, field)
}

// LazyMapOf gives a field that is a map.
func LazyMapOf[K, V any](x *lazy.Message, field int) lazy.Map[K, V] {
	return lazy.MapOf[K, V](x, field)
}

// LazySet sets a field of x to v, by the index of the field in the struct. v is copied. A nil
// that Binary.Append would leave out removes the field. What cannot be encoded is an error of
// the Append that follows.
func LazySet[T any](x *lazy.Message, field int, v T) { lazy.Set(x, field, v) }

// LazyPlain decodes x, with its changes, into a T, the struct that x is a view of.
func LazyPlain[T any](x *lazy.Message) (*T, error) { return lazy.Plain[T](x) }
