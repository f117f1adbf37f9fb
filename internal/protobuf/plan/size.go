package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// size measures the struct at p, without its own tag and length, and notes the sizes of the messages
// in it in the order in which fields writes them, but for those in maps. What cannot be
// written counts as nothing: fields will find it.
func (e *Encoder) size(pl *Plan, p unsafe.Pointer, depth int) (n int) {
	if depth <= 0 || p == nil {
		return 0
	}
	for i := range pl.ops {
		o := &pl.ops[i]
		// Safety: p points to a pl.Go, and offset and form are those of one of its fields.
		n += e.sizeField(pl, o, unsafe.Add(p, o.Offset), depth)
	}
	if pl.HasKept() {
		n += len(*pl.Kept(p))
	}
	return n
}

// sizeField measures the field of o at p. It has a case for each way of writing a field; what
// it says must be what fields appends, to the byte: lengths are written before their content.
func (e *Encoder) sizeField(pl *Plan, o *Op, p unsafe.Pointer, depth int) int {
	// Safety: for all loads: p points to a field of o.Type.Go.
	switch o.Do {
	case Int64, Int32, Closed, Uint32, Sint64, Sint32, Bool, Fixed64, Fixed32:
		if !o.always && zero(o.Do, p) {
			return 0
		}
	case Text:
		if s := *(*string)(p); len(s) == 0 && !o.always {
			return 0
		}
	case Blob:
		if s := *(*[]byte)(p); len(s) == 0 && (s == nil || pl.Fields[o.Index].Rule == shape.Default) {
			return 0
		}
	case Message, Group:
		if *(*unsafe.Pointer)(p) == nil {
			return 0
		}
	case Scalar:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			return 0
		}
		return e.sizeValue(o, o.Elem, q, depth)
	case List:
		s, n := *(*shape.Slice)(p), 0
		for i := range s.Len {
			n += e.sizeValue(o, o.Elem, unsafe.Add(s.Data, i*o.Type.Elem.Size), depth)
		}
		return n
	case Packed:
		if s := *(*shape.Slice)(p); s.Len > 0 {
			return int(o.HeadN) + prefixed(sizePacked(o, s))
		}
		return 0
	case Map:
		return e.sizeEntries(o, p, depth)
	case Union:
		f := *(*shape.Face)(p)
		v := o.Type.Holds(f)
		if v == nil || f.Data == nil {
			return 0
		}
		one := &at(v.Struct).ops[0]
		return e.sizeValue(one, one.Do, unsafe.Add(f.Data, one.Offset), depth)
	}
	return e.sizeValue(o, o.Do, p, depth)
}

// zero tells whether a plain number is one that is left out.
func zero(form Form, p unsafe.Pointer) bool {
	// Safety: p points to a number of that form.
	switch form {
	case Int64, Sint64, Fixed64:
		return *(*uint64)(p) == 0
	case Bool:
		return *(*uint8)(p) == 0
	}
	return *(*uint32)(p) == 0
}

// prefixed is the size of n bytes with their length.
func prefixed(n int) int { return raw.Size(uint64(n)) + n }

// sizePacked measures the numbers of a list, without their tag and length.
func sizePacked(o *Op, s shape.Slice) int {
	switch o.Elem {
	case Bool:
		return s.Len
	case Fixed32:
		return 4 * s.Len
	case Fixed64:
		return 8 * s.Len
	}
	return sizeNumbers(o.Elem, s.Data, s.Len)
}

// sizeValue measures the tag of o and the value at p.
func (e *Encoder) sizeValue(o *Op, form Form, p unsafe.Pointer, depth int) int {
	n := int(o.HeadN)
	// Safety: for all loads: p points to what form says.
	switch form {
	case Fixed64:
		return n + 8
	case Fixed32:
		return n + 4
	case Bool:
		return n + 1
	case Text:
		return n + prefixed(len(*(*string)(p)))
	case Blob:
		return n + prefixed(len(*(*[]byte)(p)))
	case Group:
		return 2*n + e.size(o.Plan, *(*unsafe.Pointer)(p), depth-1)
	case Message:
		// Its place is taken before it is measured: fields asks for the outer length first.
		at := len(e.known.list)
		e.known.list = append(e.known.list, 0)
		size := e.size(o.Plan, *(*unsafe.Pointer)(p), depth-1)
		e.known.list[at] = size
		return n + prefixed(size)
	}
	var one [1]uint64
	widen(one[:], form, p)
	return n + raw.Size(one[0])
}

// sizeEntries measures a map with its tags. What is noted of messages in it goes: their order is another
// each time.
func (e *Encoder) sizeEntries(o *Op, p unsafe.Pointer, depth int) (n int) {
	noted := len(e.known.list)
	// Safety: p points to a map. It is copied, so that p does not reach reflection.
	m := *(*unsafe.Pointer)(p)
	if m == nil {
		return 0
	}
	k, v := reflect.New(o.Type.Key.Go), reflect.New(o.Type.Elem.Go)
	for it := reflect.NewAt(o.Type.Go, unsafe.Pointer(&m)).Elem().MapRange(); it.Next(); {
		k.Elem().SetIterKey(it)
		v.Elem().SetIterValue(it)
		n += int(o.HeadN) + prefixed(e.sizeValue(&o.in.key, o.in.key.Do, k.UnsafePointer(), depth)+e.sizeValue(&o.in.value, o.in.value.Do, v.UnsafePointer(), depth))
		e.known.list = e.known.list[:noted]
	}
	return n
}
