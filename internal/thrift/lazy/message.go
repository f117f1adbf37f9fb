package lazy

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// A Message is a struct that is read and changed where its bytes lie. Generated
// views embed it: LazyUser has the struct User's fields as methods. What is not
// changed is forwarded byte by byte, unknown fields included.
//
// OpenLazy, Binary.Decode and a field of the view's type make one. It holds a
// reference to the received block until Release; views of what is inside share
// it. It belongs to one goroutine at a time, with all views of what is inside.
// Compact and JSON make and write views too, and what works on any message takes
// one for the struct that it shows: docs/how/lazy.md says at what cost.
//
// A message is checked as a whole when it is opened, so that nothing can fail
// later: taken is what Binary.Decode takes, without its memory budget, since
// nothing is allocated. The budget stays with the view: what is decoded from it, as a
// whole or as one value, takes no more than decoding the message had been allowed.
// What would is an error of Plain and of JSON, equals nothing, and makes the getter
// of a value that is decoded panic with an *rpc.Error (InvalidArgument); views, scalars and
// texts are not decoded. The zero Lazy holds no message; using it panics, as using one
// after its Release does.
type Message struct {
	own   *lease
	pl    *plan.Plan
	from  uint32 // of the struct's first byte
	end   uint32 // of the byte after its stop; 0: at was not made yet
	level uint16 // 1 for the outermost struct
	again bool   // some field comes twice, or has elements of another type
	first bool   // what Open gave: has the lease's reference
	at    index
}

// An index says where the value of each field begins in own.b, by the field's place in
// the plan; 0: the message does not have it. What was changed stands in the lease, so
// that an index is never made anew.
//
// The offsets of few fields lie in the view: one that does not outlive its turn then takes
// no memory. They cannot be a slice too: a view that points into itself is on the heap.
type index struct {
	far  []uint32
	near [nearFields]uint32 // if there are no more
}

// nearFields is for how many fields there is room in a view.
const nearFields = 8

// of gives the offset of a field; 0 also if the index was not made yet.
func (ix *index) of(field int) uint32 {
	if field < len(ix.far) {
		return ix.far[field]
	}
	return ix.near[field&(nearFields-1)]
}

// A lease is a message's memory, with what was changed in it. All views of one
// message share it; a value that was set has one of its own once there is a view
// of something in it.
type lease struct {
	b     []byte // nil after Release
	view  buf.View
	edits []edit // by from
	err   error  // of the first value that cannot be encoded

	presets *presets // nil: no default with structs in it was read

	root *lease       // of a value that was set: the message's, else nil
	mem  codec.Budget // of the root: what one decode of the message may take, with what was set in it

	calm  bool  // b is there and nothing was changed: what the index says is so
	lent  bool  // view has a reference to what was received, for a field of a message
	odd   bool  // there are bools that are neither 0 nor 1: only while it is opened
	taken uint8 // of small

	// Where the elements of lists are that were read by index: of the one at
	// offset list, which was read last, and of all.
	list  uint32
	elems []uint32
	lists map[uint32][]uint32

	text codec.Window // see str
	last int          // end of the string that was read last

	// Room for what most messages need, so that it takes no allocations.
	room  [fewFields]uint32
	one   [1]edit
	small [16]byte
}

// fewFields is how many fields have their index in the lease itself.
const fewFields = 64

// lazy is how a view leads to its Lazy.
func (x *Message) lazy() *Message { return x }

// A View is a pointer to a generated view V.
type View[V any] interface {
	*V
	lazy() *Message
}

// Open makes a view of the message that body holds, and keeps a reference of
// its own until Release; body is borrowed. lim may be nil. Errors are those of
// Binary.Decode.
func Open[V any, P View[V]](body buf.View, lim *rpc.Limits) (P, error) {
	x := P(new(V))
	if _, err := plan.DecodeBinary(body, x, lim, false); err != nil {
		return nil, err
	}
	return x, nil
}

// New makes a view of msg, a pointer to the struct that V is a view of, to
// be passed where a view is asked for. Errors are those of Binary.Append.
func New[V any, P View[V]](msg any) (P, error) {
	x := P(new(V))
	pl, _, err := plan.Of(x)
	if err != nil {
		return nil, err
	}
	if of, _, err := plan.Of(msg); err != nil {
		return nil, err
	} else if of != pl.Shown {
		return nil, &plan.TypeError{Type: reflect.TypeOf(msg), Why: "is not what " + reflect.TypeFor[V]().Name() + " is a view of"}
	}
	var out buf.Out
	defer out.Reset()
	if err := plan.AppendBinary(&out, msg, 0, false); err != nil {
		return nil, err
	}
	if err := x.lazy().open(pl, buf.ViewOf(out.Bytes()), &rpc.Limits{Depth: plan.DefaultDepth}, codec.Unlimited); err != nil {
		return nil, err
	}
	return x, nil
}

// Release gives the reference to the received bytes back. x and all views of
// what is inside must not be used afterwards, strings and other values stay.
// Only the view that was opened, or that came as a whole message, is released,
// and once. A view that is forgotten costs a block of the pool, which is left
// to the garbage collector.
func (x *Message) Release() {
	l := x.own
	if !x.first || l == nil || l.b == nil {
		panic("thrift: Release of a lazy message that is not open, or of a part of one")
	}
	l.view.Release()
	l.b, l.calm, l.view, l.edits, l.presets = nil, false, buf.View{}, nil, nil // what else there is goes with the views
}

// open makes x the view of the struct that body holds; x keeps a reference. mem is
// what decoding it may take.
func (x *Message) open(pl *plan.Plan, body buf.View, lim *rpc.Limits, mem codec.Budget) error {
	b := body.Bytes()
	l := &lease{b: b, calm: true, mem: mem}
	*x = Message{own: l, pl: pl.Shown, level: 1, first: true}
	if end, f := x.indexIn(lim.Depth); f != raw.Fine || end != len(b) {
		if f == raw.Fine {
			f = raw.Trailing
		}
		*x = Message{}
		return refusal(pl.Shown, body, lim, end, f)
	}
	if l.odd {
		l.b = bytes.Clone(b)
		raw.Tame(l.b, 0, raw.TypeStruct)
		l.view = buf.ViewOf(l.b)
		return nil
	}
	l.view = body.Retain()
	return nil
}

// budget is what decoding something of l's message may take.
func (l *lease) budget() *codec.Budget {
	if l.root != nil {
		l = l.root
	}
	return &l.mem
}

// refusal finds the words for a message that is refused. The decoder has
// better ones; they are worth a second look, since refusals are rare.
func refusal(pl *plan.Plan, body buf.View, lim *rpc.Limits, end int, f raw.Fault) error {
	msg := reflect.New(pl.Go).Interface()
	if _, err := plan.DecodeBinary(body, msg, lim, false); err != nil {
		return err
	}
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: &raw.SyntaxError{Offset: min(end, body.Len()), Path: pl.Go.Name(), Why: f.Why()}}
}

// index looks where the fields of x are, in bytes that were checked.
func (x *Message) index() {
	if x.own == nil || x.own.b == nil {
		panic("thrift: use of a lazy message that is not open or was released")
	}
	if _, f := x.indexIn(1 << 30); f != raw.Fine {
		panic(fmt.Sprintf("thrift: checked bytes are wrong: %s", f.Why())) // a mistake in this package, or the bytes were written to
	}
}

// indexIn makes the index of x, whose bytes nest no deeper than depth.
func (x *Message) indexIn(depth int) (end int, f raw.Fault) {
	n := len(x.pl.Fields)
	switch {
	case n <= nearFields:
		x.at.near = [nearFields]uint32{}
		return x.indexInto(x.at.near[:n], depth)
	case x.first && n <= fewFields:
		x.at.far = x.own.room[:n:n]
	default:
		x.at.far = make([]uint32, n)
	}
	return x.indexInto(x.at.far, depth)
}

// indexInto fills at, which has a place for each field.
func (x *Message) indexInto(at []uint32, depth int) (end int, f raw.Fault) {
	c := plan.Checker{B: x.own.b}
	end, f = c.Fields(x.pl, int(x.from), depth, at)
	x.end, x.again = uint32(end), c.Again
	x.own.odd = x.own.odd || c.Odd
	return end, f
}

// find gives where the value of a field is, with 0 for one that is absent.
func (x *Message) find(field int) (*lease, int) {
	if o := x.near(field); o != 0 {
		return x.own, int(o)
	}
	return x.findSlow(field)
}

// near is find for a field that is there, as long as nothing was changed; 0: it
// takes a closer look. It is small enough to be inlined.
func (x *Message) near(field int) uint32 {
	// Once something was changed the index does not say what is there.
	if l := x.own; l == nil || !l.calm {
		return 0
	}
	return x.at.of(field)
}

// findSlow is find for what near has no answer to.
func (x *Message) findSlow(field int) (*lease, int) {
	if x.end == 0 || x.own.b == nil {
		x.index()
	}
	l, o := x.own, x.at.of(field)
	if len(l.edits) == 0 {
		if o != 0 || !x.pl.HasPreset() {
			return l, int(o)
		}
	} else if e := l.edit(x.place(field), x.pl.Fields[field].Tag); e != nil {
		if e.val == nil {
			return l, 0
		}
		if e.sub == nil {
			e.sub = l.over(e.val)
		}
		return e.sub, valueAt
	}
	if o != 0 || !x.pl.HasPreset() {
		return l, int(o)
	}
	return x.preset(field)
}

// over makes the lease of val, header and value of a field that is not in the message.
func (l *lease) over(val []byte) *lease {
	return &lease{b: val, calm: true, view: buf.ViewOf(val), root: cmp.Or(l.root, l)}
}

// valueAt is where the value begins in a lease of header and value.
const valueAt = 3

// place is where a field's header is, or would be written.
func (x *Message) place(field int) uint32 {
	if o := x.at.of(field); o != 0 {
		return o - valueAt
	}
	return x.end - 1
}

// zero tells whether the value at p is the one that stands for a field that is
// not there anyway.
func zero(f *shape.Field, p unsafe.Pointer) bool {
	switch f.Kind {
	case shape.List, shape.Set, shape.Pairs, shape.Bytes:
		// Safety: p points to a slice.
		return (*shape.Slice)(p).Data == nil
	case shape.Map:
		// Safety: p points to a map, which is a pointer.
		return *(*unsafe.Pointer)(p) == nil
	}
	// Safety: the type is that of a scalar, a string or a UUID.
	return reflect.NewAt(f.Type.Go, p).Elem().IsZero()
}

// str copies a string. Strings that are read one after the other share copies,
// as decoded ones do; one that is read alone pins nothing else. A large one that
// is most of its block aliases it: then the block is left to the collector.
func (l *lease) str(o, n int) string {
	near := uint(o-l.last) <= 64
	if l.last = o + n; n < buf.RefMin {
		if near {
			return l.text.String(l.b, o, n)
		}
	} else if 2*n >= l.view.Footprint() && l.view.LeaveToGC() {
		text := l.b[o : o+n] // the length is the message's: it is held against the bytes here too
		// Safety: the bytes never change, and the block is not used again.
		return unsafe.String(&text[0], len(text))
	}
	return string(l.b[o : o+n])
}
