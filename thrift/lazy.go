package thrift

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/lazy"
	"github.com/limosa-rpc/limosa/rpc"
)

// A Lazy is a struct that is read and changed where its bytes lie. Generated
// views embed it: LazyUser has the struct User's fields as methods. What is not
// changed is forwarded byte by byte, unknown fields included.
//
// [OpenLazy], [NewLazy], Binary.Decode and a field of the view's type make one. It holds a
// reference to the received block until its Release, which is due once; views of what is
// inside share it. It belongs to one goroutine at a time, with all views of what is inside.
// docs/how/lazy.md says what it can do and at what cost.
type Lazy = lazy.Message

// A LazyView is a pointer to a generated view V.
type LazyView[V any] = lazy.View[V]

// LazyNumbers is a list or set of numbers or enums where it was received. As the types below
// it is what a getter gives, valid until the message's Release.
type LazyNumbers[T lazy.Number] = lazy.Numbers[T]

// LazyStructs is a list or set of structs, as views of its elements.
type LazyStructs[V any] = lazy.Structs[V]

// LazyList is a list or set of anything else; its elements are decoded one by one.
type LazyList[T any] = lazy.List[T]

// LazyMap is a map; its entries are decoded one by one, in the order of the message.
type LazyMap[K, V any] = lazy.Map[K, V]

// OpenLazy makes a view of the message that body holds, and keeps a reference of
// its own until Release; body is borrowed. lim may be nil. Errors are those of
// Binary.Decode.
func OpenLazy[V any, P LazyView[V]](body buf.View, lim *rpc.Limits) (P, error) {
	return lazy.Open[V, P](body, lim)
}

// NewLazy makes a view of msg, a pointer to the struct that V is a view of, to
// be passed where a view is asked for. Errors are those of Binary.Append.
func NewLazy[V any, P LazyView[V]](msg any) (P, error) { return lazy.New[V, P](msg) }
