package lazy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A Number is a type that lists hold in a fixed number of bytes, an enum or a
// scalar but bool.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~float64
}

// Get gives a field as a plain value, which refers to nothing of the
// message; for generated code, as are the functions below. Absent fields are
// zero. Anything but numbers is copied or decoded on every call.
func Get[T any](x *Message, field int) T {
	v, _ := Opt[T](x, field)
	return v
}

// A Getter reads fields of the types that most have. Its methods are functions in all but
// form: package impl has an alias for it, so that generated getters call them directly. A
// function of impl's between the two would be one call more for each field that is read,
// since a getter around an inlined function is itself too large to be inlined.
//
// The methods have no type parameters, which lets the compiler see that x is not kept, and
// do not look at the field's type: one of another type gives nonsense, or a panic.
type Getter struct{}

// I64 gives a field that is an i64; ok: the message has it.
func (Getter) I64(x *Message, field int) (v int64, ok bool) {
	if o := x.near(field); o != 0 {
		return int64(binary.BigEndian.Uint64(x.own.b[o:])), true
	}
	if l, o := x.findSlow(field); o != 0 {
		return int64(binary.BigEndian.Uint64(l.b[o:])), true
	}
	return 0, false
}

// I32 is I64 for an i32 or an enum.
func (Getter) I32(x *Message, field int) (v int32, ok bool) {
	if o := x.near(field); o != 0 {
		return int32(binary.BigEndian.Uint32(x.own.b[o:])), true
	}
	if l, o := x.findSlow(field); o != 0 {
		return int32(binary.BigEndian.Uint32(l.b[o:])), true
	}
	return 0, false
}

// Double is I64 for a double.
func (Getter) Double(x *Message, field int) (v float64, ok bool) {
	n, ok := Getter{}.I64(x, field)
	return math.Float64frombits(uint64(n)), ok
}

// Bool is I64 for a bool.
func (Getter) Bool(x *Message, field int) (v, ok bool) {
	if o := x.near(field); o != 0 {
		return x.own.b[o] == 1, true
	}
	l, o := x.findSlow(field)
	return o != 0 && l.b[o] == 1, o != 0
}

// Text is I64 for a string.
func (Getter) Text(x *Message, field int) (v string, ok bool) {
	l, o := x.own, int(x.near(field))
	if o == 0 {
		if l, o = x.findSlow(field); o == 0 {
			return "", false
		}
	}
	return l.str(o+4, int(binary.BigEndian.Uint32(l.b[o:]))), true
}

// Opt is LazyGet for optional fields; ok: the message has it.
func Opt[T any](x *Message, field int) (v T, ok bool) {
	l, o := x.find(field)
	if o == 0 {
		return v, false
	}
	t := x.pl.Fields[field].Type
	if t.Kind == shape.Pointer {
		t = t.Elem
	}
	if !isType[T](t) {
		mustBe[T](t)
	}
	// Safety: v is of type t.
	switch p := unsafe.Pointer(&v); t.Kind {
	case shape.Int64, shape.Float64:
		*(*uint64)(p) = binary.BigEndian.Uint64(l.b[o:])
	case shape.Int32:
		*(*uint32)(p) = binary.BigEndian.Uint32(l.b[o:])
	case shape.Bool:
		*(*bool)(p) = l.b[o] == 1
	case shape.String:
		*(*string)(p) = l.str(o+4, int(binary.BigEndian.Uint32(l.b[o:])))
	default:
		l.load(t, o, p)
	}
	return v, true
}

// isType tells whether T is what t is for, by the address of the type.
func isType[T any](t *shape.Type) bool {
	rt := reflect.TypeFor[T]()
	// Safety: both are interfaces that hold a pointer, of which there is one for
	// each type; it is their second word.
	return (*shape.Face)(unsafe.Pointer(&rt)).Data == (*shape.Face)(unsafe.Pointer(&t.Go)).Data
}

// Inner makes v a view of a field that is a struct; false: it is not there.
// v stays on the stack if the view that it is in does not outlive its caller.
func Inner(x, v *Message, field int) bool {
	l, o := x.find(field)
	if o == 0 {
		return false
	}
	v.within(l, plan.At(x.pl.Fields[field].Type.Struct), o, x.level+1)
	return true
}

// within makes x the view of a struct inside of a message.
func (x *Message) within(l *lease, pl *plan.Plan, o int, level uint16) {
	*x = Message{own: l, pl: pl, from: uint32(o), level: level}
}

// mustBe panics if a T is not what t is for: generated code that does not fit its struct, or a
// view that was written by hand.
func mustBe[T any](t *shape.Type) {
	if rt := reflect.TypeFor[T](); t.Go != rt {
		panic(fmt.Sprintf("thrift: %s is no %s", t.Go, rt))
	}
}

// load decodes the value of type t at o into p, which points to a t.Go, and
// gives its end.
func (l *lease) load(t *shape.Type, o int, p unsafe.Pointer) int {
	if l.b == nil {
		panic("thrift: use of a lazy message after its Release")
	}
	// Safety: p points to what t says.
	if t.Kind == shape.String {
		n := int(binary.BigEndian.Uint32(l.b[o:]))
		*(*string)(p) = l.str(o+4, n)
		return o + 4 + n
	}
	d := plan.Decoder{B: l.b, Budget: *l.budget()}
	end, f := d.Value(t, p, o, 1<<30)
	if f == raw.TooCostly {
		panic(d.Failed(end, f))
	}
	if f != raw.Fine {
		panic("thrift: checked bytes are wrong: " + f.Why())
	}
	return end
}

// Numbers is a list or set of numbers where it was received. It is valid
// until the message's Release.
type Numbers[T Number] struct {
	own *lease
	p   unsafe.Pointer
	n   int
}

// NumbersOf gives a field that is a list or set of numbers.
func NumbersOf[T Number](x *Message, field int) Numbers[T] {
	l, o := x.find(field)
	if o == 0 {
		return Numbers[T]{}
	}
	mustBe[T](x.pl.Fields[field].Type.Elem)
	n := int(binary.BigEndian.Uint32(l.b[o+1:]))
	if n == 0 {
		return Numbers[T]{}
	}
	var v T
	size := int(unsafe.Sizeof(v))
	_ = l.b[o+5 : o+5+n*size] // n is the message's, which was checked; what follows does without a look
	b, at := l.b, o+5+size-8
	if bigEndian() {
		b, at = turned(b[o-3:o+5+n*size], size), size
	}
	// Safety: see At. The n elements from o+5 on lie within l.b: they were checked.
	return Numbers[T]{own: l, p: unsafe.Pointer(&b[at]), n: n}
}

// bigEndian tells how this machine stores numbers.
func bigEndian() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

// turned gives a copy of a list with its field's header in which the bytes of
// each element are turned around, for machines that would do so themselves.
func turned(list []byte, size int) []byte {
	list = bytes.Clone(list)
	for e := list[8:]; len(e) >= size; e = e[size:] {
		slices.Reverse(e[:size])
	}
	return list
}

// Len is the number of elements.
func (s Numbers[T]) Len() int { return s.n }

// At gives element i. It panics if there is none.
func (s Numbers[T]) At(i int) T {
	if uint(i) >= uint(s.n) || s.own.b == nil {
		panic(errNoElement)
	}
	// Safety: the 8 bytes that end with the element are there: the first element
	// has a field's and a list's header before it. Turned around, the element is
	// the first of them.
	u := bits.ReverseBytes64(*(*uint64)(unsafe.Add(s.p, i*s.size())))
	return *(*T)(unsafe.Pointer(&u))
}

// size is that of an element, here and on the wire.
func (s Numbers[T]) size() int {
	var v T
	return int(unsafe.Sizeof(v))
}

var errNoElement = errors.New("thrift: no such element in a lazy list, or its message was released")

// All goes through the elements.
func (s Numbers[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i := range s.n {
			if !yield(i, s.At(i)) {
				return
			}
		}
	}
}

// Slice gives a copy.
func (s Numbers[T]) Slice() []T {
	if s.n == 0 {
		return nil
	}
	s.At(0) // panics if the message was released
	list, size := make([]T, s.n), s.size()
	if bigEndian() {
		for i := range list {
			list[i] = s.At(i)
		}
		return list
	}
	// Safety: see At; the first of n elements ends 8 bytes after s.p.
	q, p := unsafe.Pointer(unsafe.SliceData(list)), unsafe.Add(s.p, 8-size)
	switch b := unsafe.Slice((*byte)(p), s.n*size); size {
	case 8:
		codec.From64(unsafe.Slice((*uint64)(q), s.n), b)
	case 4:
		codec.From32(unsafe.Slice((*uint32)(q), s.n), b)
	case 2:
		codec.From16(unsafe.Slice((*uint16)(q), s.n), b)
	default:
		copy(unsafe.Slice((*byte)(q), s.n), b)
	}
	return list
}

// A sequence is where the elements of a list or set are.
type sequence struct {
	own *lease
	t   *shape.Type // of an element
	o   int         // of the first one
	n   int
}

// sequence finds a field that is a list or set; own is nil if it is not there.
func (x *Message) sequence(field int) sequence {
	l, o := x.find(field)
	if o == 0 {
		return sequence{}
	}
	return sequence{own: l, t: x.pl.Fields[field].Type.Elem, o: o + 5, n: int(binary.BigEndian.Uint32(l.b[o+1:]))}
}

// offset gives where element i begins. The offsets of one list are kept, so that
// going through it by index costs no more than once.
func (s *sequence) offset(i int) int {
	if uint(i) >= uint(s.n) {
		panic(fmt.Sprintf("thrift: element %d of %d", i, s.n))
	}
	l := s.own
	if l.b == nil {
		panic("thrift: use of a lazy list after its message's Release")
	}
	if size := int(raw.Fixed[plan.Wires[s.t.Kind]]); size != 0 {
		return s.o + i*size
	}
	if int(l.list) != s.o {
		l.list, l.elems = uint32(s.o), l.lists[uint32(s.o)]
		if l.elems == nil {
			l.elems = s.offsets()
		}
	}
	return int(l.elems[i])
}

// offsets finds where all elements begin, and keeps that: lists may be read by
// turns, one within the other.
func (s *sequence) offsets() []uint32 {
	c, at := plan.Checker{B: s.own.b}, make([]uint32, s.n)
	o := s.o
	for k := range at {
		at[k] = uint32(o)
		o, _ = c.Value(s.t, o, 1<<30)
	}
	if s.own.lists == nil {
		s.own.lists = map[uint32][]uint32{}
	}
	s.own.lists[uint32(s.o)] = at
	return at
}

// List is a list or set of anything but numbers and structs, where it was
// received. It is valid until the message's Release; its elements are copies.
type List[T any] struct{ s sequence }

// ListOf gives a field that is such a list.
func ListOf[T any](x *Message, field int) List[T] {
	s := x.sequence(field)
	if s.own != nil {
		mustBe[T](s.t)
	}
	return List[T]{s}
}

// Len is the number of elements.
func (s List[T]) Len() int { return s.s.n }

// At decodes element i. It panics if there is none.
func (s List[T]) At(i int) (v T) {
	s.s.own.load(s.s.t, s.s.offset(i), unsafe.Pointer(&v)) // Safety: v is of type t.
	return v
}

// All goes through the elements, decoding one at a time.
func (s List[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		o := s.s.o
		for i := range s.s.n {
			var v T
			o = s.s.own.load(s.s.t, o, unsafe.Pointer(&v)) // Safety: v is of type t.
			if !yield(i, v) {
				return
			}
		}
	}
}

// Structs is a list or set of structs, as views. It is valid until the
// message's Release. What is set in an element is set in the message.
type Structs[V any] struct {
	s     sequence
	level uint16
}

// StructsOf gives a field that is a list or set of structs.
func StructsOf[V any, P View[V]](x *Message, field int) Structs[V] {
	var v V
	if unsafe.Sizeof(v) != unsafe.Sizeof(*x) {
		panic("thrift: " + reflect.TypeFor[V]().String() + " is no generated view")
	}
	return Structs[V]{x.sequence(field), x.level + 2}
}

// Len is the number of elements.
func (s Structs[V]) Len() int { return s.s.n }

// At makes a view of element i. It panics if there is none.
func (s Structs[V]) At(i int) *V {
	o, v := s.s.offset(i), new(V)
	// Safety: as in All.
	(*Message)(unsafe.Pointer(v)).within(s.s.own, plan.At(s.s.t.Struct), o, s.level)
	return v
}

// All goes through the elements. A view that is not kept beyond its turn takes no
// memory, if the loop's body can be seen by the compiler.
func (s Structs[V]) All() iter.Seq2[int, *V] {
	return func(yield func(int, *V) bool) {
		if s.s.n == 0 {
			return // one that is not there has no type either
		}
		// At is not inlined into a loop of the caller's package: once is enough.
		pl, room := plan.At(s.s.t.Struct), []uint32(nil)
		for i, o := 0, s.s.o; i < s.s.n; i++ {
			var v V
			// Safety: a V is a Lazy and nothing else; LazyStructList has seen to it.
			x := (*Message)(unsafe.Pointer(&v))
			x.own, x.pl, x.from, x.level = s.s.own, pl, uint32(o), s.level
			room = x.element(room, s.s.n-i)
			o = int(x.end)
			if !yield(i, &v) {
				return
			}
		}
	}
}

// indexSlab is for how many elements of a list there is an index at once.
const indexSlab = 16

// element makes the index of x, an element of a list, after which there are
// fewer than left. What is taken for it of room, and what is left of that, is
// memory for the next ones.
func (x *Message) element(room []uint32, left int) []uint32 {
	l, n := x.own, len(x.pl.Fields)
	if l.b == nil {
		panic("thrift: use of a lazy list after its message's Release")
	}
	if n > nearFields {
		if len(room) < n {
			room = make([]uint32, n*min(left, indexSlab))
		}
		x.at.far = room[:n:n]
		x.reindex(x.at.far)
		return room[n:]
	}
	// Most elements have all fields in their order, and no inner structure: one pass finds them.
	if x.pl.Plain {
		if end := plan.Element(l.b, x.pl.Runs, int(x.from), x.at.near[:n]); end != 0 {
			x.end = uint32(end)
			return room
		}
	}
	x.at.near = [nearFields]uint32{}
	x.reindex(x.at.near[:n])
	return room
}

// reindex finds the fields of x again, in bytes that were checked.
func (x *Message) reindex(at []uint32) {
	if _, f := x.indexInto(at, 1<<30); f != raw.Fine {
		panic("thrift: checked bytes are wrong: " + f.Why()) // a mistake in this package, or the bytes were written to
	}
}

// Map is a map where it was received, its entries in their order; a key
// that comes twice comes twice. It is valid until the message's Release; keys
// and values are copies.
type Map[K, V any] struct {
	own *lease
	t   *shape.Type
	o   int
	n   int
}

// MapOf gives a field that is a map.
func MapOf[K, V any](x *Message, field int) Map[K, V] {
	l, o := x.find(field)
	if o == 0 {
		return Map[K, V]{}
	}
	t := x.pl.Fields[field].Type
	mustBe[K](t.Key)
	mustBe[V](t.Elem)
	return Map[K, V]{own: l, t: t, o: o + 6, n: int(binary.BigEndian.Uint32(l.b[o+2:]))}
}

// Len is the number of entries.
func (m Map[K, V]) Len() int { return m.n }

// All goes through the entries, decoding one at a time.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		o := m.o
		for range m.n {
			var k K
			var v V
			// Safety: k and v are of the types of key and value.
			o = m.own.load(m.t.Key, o, unsafe.Pointer(&k))
			o = m.own.load(m.t.Elem, o, unsafe.Pointer(&v))
			if !yield(k, v) {
				return
			}
		}
	}
}
