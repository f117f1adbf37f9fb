package protobuf

import (
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// Equal reports whether two messages of one type say the same: whether they would be encoded
// alike with Codec.Deterministic, except for floats: those that are no number equal each other and, but
// for fields of one value without explicit, 0 equals -0. An explicit field that is absent differs from one
// that is zero; nil slices and maps are empty ones. Fields without a tag are not looked at; what is
// kept of unknown fields is compared as bytes.
//
// Two nils are equal, of one pointer type or without a type. Messages of different
// types, and values that are no messages, are not equal.
// Values that refer to themselves are compared to the end.
func Equal(a, b any) bool { return plan.Memo.Equal(a, b) }

// Clone gives a copy of a message that shares no memory with it that can be
// written to; strings are shared. nil gives nil. Nil and empty containers stay what they
// are. Fields without a tag are zero in the copy: they are no part of the
// message. The copy of a value that refers to itself does so too, though perhaps
// later. It panics with a *TypeError if M cannot be a message.
func Clone[M any](m *M) *M {
	if m == nil {
		return nil
	}
	if made, ok := any(m).(interface{ CloneMade() any }); ok {
		return made.CloneMade().(*M)
	}
	pl, p, err := plan.Of(m)
	if err != nil {
		panic(err)
	}
	// Safety: the plan is that of M.
	return (*M)(pl.Clone(p))
}

// String gives a message as one line for logs: at most 1,024 bytes and eight
// levels, strings cut after 128 bytes, bytes as their length and the first 16
// of them; what is left out shows as "…". Fields that are absent are not shown. Any value is taken:
// nil, typed nils, values that refer to themselves, what is
// no message at all (then its type is shown). The form is for people and may change.
func String(m any) string { return plan.Memo.Text(m) }

// A Mask chooses fields of messages of type M. It is made once by Keep or Drop, may
// be applied any number of times, and is safe for concurrent use.
type Mask[M any] struct{ mask *shape.Mask }

// A MaskError says which path of a mask does not fit the messages.
type MaskError struct {
	Path string // as far as it is wrong
	Why  string
}

// Error gives both.
func (e *MaskError) Error() string { return "protobuf: mask " + e.Path + ": " + e.Why }

// Keep makes a mask that keeps the fields that the paths name and unsets all
// others. Paths are separated by commas, names within them, which are the .proto file's, by
// dots: "user.name, items.price". A path leads through lists and the values of maps to what their
// elements have. A oneof is named first, then its field: "choice.card". Whoever names a field means
// all of it. Required fields are kept without being named.
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
// if it cannot be. With Keep, unknown fields go too, unless all of their message is kept. What m
// refers to is changed, wherever else it is referred to.
func (k *Mask[M]) Apply(m *M) { k.mask.ApplyTo(m) }
