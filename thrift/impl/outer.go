package impl

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// Open is Begin for arguments and results: Room is there then.
func (e *Encoder) Open(to Output, b []byte) (*Encoder, []byte) {
	e.out = to.Out
	if cap(b)-len(b) < Room {
		b = e.out.Next(b)
	}
	return e, b
}

// NoResult gives the error for a result that holds none, and nil for one that does.
// result is a pointer to a generated struct whose first field is the value: a
// pointer, slice, map or union.
func NoResult(result any) error {
	// Safety: each of those types
	// begins with a word that is nil exactly if the value is.
	if *(*unsafe.Pointer)(shape.Data(result)) != nil {
		return nil
	}
	return raw.NoResult()
}
