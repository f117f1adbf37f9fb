package thrift

import (
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/rpc"
)

// Equal reports whether two messages of one type say the same: whether they
// would be encoded alike, except for the order of what has none. So an optional
// field that is nil differs from one that is empty, and other nil slices and maps
// are empty ones; sets, maps and Pairs may be in any order; a double that is no number
// equals another one. Fields without a thrift tag are not looked at; what a field
// of type Unknown kept is compared as bytes.
//
// A lazy view is compared by what it shows; for that it is decoded, unless both have the
// same bytes. One with a value that cannot be encoded equals none but itself.
//
// Two nils are equal, of one pointer type or without a type. Messages of different
// types, and values that are no messages, are not equal.
// Values that refer to themselves are compared to the end.
func Equal(a, b any) bool { return plan.Memo.Equal(a, b) }

// Clone gives a copy of a message that shares no memory with it that can be
// written to; strings are shared. nil gives nil. Nil and empty containers stay what they
// are. Fields without a thrift tag are zero in the copy: they are no part of the
// message. A lazy view is copied with the bytes that it shows, which the copy does not
// share: it outlives the original, and need not be released. The copy of a value that refers to itself does so too, though perhaps
// later. It panics with a *TypeError if M cannot be a message.
func Clone[M any](m *M) *M {
	if m == nil {
		return nil
	}
	pl, p, err := plan.Of(m)
	if err != nil {
		panic(err)
	}
	// Safety: the plan is that of M.
	return (*M)(pl.Clone(p))
}

// String gives a message as one line for logs: at most 1,024 bytes and eight
// levels, strings cut after 128 bytes, binary as its length and its first 16
// bytes; what is left out shows as "…". Fields that are absent are not shown; names are the
// IDL's. Any value is taken: nil, typed nils, values that refer to themselves, what is
// no message at all (then its type is shown). A lazy view is shown from its bytes, as
// far as the text goes, and as nil after its Release. The form is for people and may change.
func String(m any) string { return plan.Memo.Text(m) }

// An InvalidError says where a message is not one that can be sent. rpc.CodeOf
// of it is rpc.InvalidArgument.
type InvalidError struct {
	Path string // such as items[3].price, by the names of the IDL; "" for the message itself
	Why  string
}

// Error gives both.
func (e *InvalidError) Error() string {
	if e.Path == "" {
		return "thrift: the message " + e.Why
	}
	return "thrift: " + e.Path + " " + e.Why
}

// Unwrap gives the code.
func (e *InvalidError) Unwrap() error { return rpc.InvalidArgument }

// Validate finds the first reason why a message could not be encoded: a required
// field or an element that is nil, a union that holds no variant or something that is
// none, a variant without a value, nesting beyond 64, which is also how values end
// that refer to themselves, sizes of 2 GB and more, an Unknown that does not hold whole
// fields, a lazy view that holds nothing or a value that cannot be encoded. It is nil
// exactly if Binary{}.Append would succeed. The numbers of enums are
// not looked at: numbers without a name are what newer programs send.
//
// The error is an *InvalidError, or a *TypeError if m is no message.
func Validate(m any) error {
	pl, p, err := plan.Of(m)
	if err != nil {
		return err
	}
	if bad := pl.Validate(p); bad != nil {
		return (*InvalidError)(bad)
	}
	return nil
}

// A Mask chooses fields of messages of type M. It is made once by Keep or Drop, may
// be applied any number of times, and is safe for concurrent use.
type Mask[M any] struct{ mask *shape.Mask }

// A MaskError says which path of a mask does not fit the messages.
type MaskError struct {
	Path string // as far as it is wrong
	Why  string
}

// Error gives both.
func (e *MaskError) Error() string { return "thrift: mask " + e.Path + ": " + e.Why }

// Keep makes a mask that keeps the fields that the paths name and unsets all
// others. Paths are separated by commas, names within them, which are the IDL's, by
// dots: "user.name, items.price". A path leads through lists, sets and the values of maps
// and Pairs to what their elements have, and through a union to its variants. Whoever
// names a field means all of it. Required fields are kept without being named.
//
// The error is a *MaskError for a path that does not fit, or a *TypeError if M
// cannot be a message.
func Keep[M any](paths string) (*Mask[M], error) { return newMask[M](paths, true) }

// Drop makes a mask that unsets the fields that the paths name and keeps all
// others; see Keep. A required field cannot be dropped.
func Drop[M any](paths string) (*Mask[M], error) { return newMask[M](paths, false) }

// newMask finds paths that do not fit when the mask is made, not when it is applied.
func newMask[M any](paths string, keep bool) (*Mask[M], error) {
	pl, _, err := plan.Of(new(M))
	if err != nil {
		return nil, err
	}
	mask, bad := pl.NewMask(paths, keep)
	if bad != nil {
		return nil, (*MaskError)(bad)
	}
	return &Mask[M]{mask}, nil
}

// Apply unsets fields of m, which may be nil, in place: a field becomes nil, or zero
// if it cannot be. An element that is a union of a variant that is not kept is taken
// out of its list or map. With Keep, what a field of type Unknown holds goes too, unless
// all of its struct is kept. A required union stays, whatever it holds. What m
// refers to is changed, wherever else it is referred to.
//
// A lazy view becomes one of a copy of its bytes without what goes, as if it had been
// released and opened anew: views and lists of what was inside must not be used any
// more. Fields that it does not know go with Keep and stay with Drop; where a path
// leads through a union, a map or a list of lists they go from that. A view
// of a part of a message cannot be masked: Apply panics.
func (k *Mask[M]) Apply(m *M) { k.mask.ApplyTo(m) }
