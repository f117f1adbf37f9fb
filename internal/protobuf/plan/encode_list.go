package plan

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// list appends the elements of s, each behind a tag of its own.
func (e *Encoder) list(b []byte, o *Op, s shape.Slice, depth int) []byte {
	switch o.Elem {
	case Message:
		return e.messages(b, o, s, depth-1)
	case Group:
		return e.groups(b, o, s, depth-1)
	}
	for i := range s.Len {
		if b = e.room(b); e.halt {
			return b
		}
		// Safety: s has s.Len elements of that size.
		if b = e.value(b, o, o.Elem, unsafe.Add(s.Data, i*o.Type.Elem.Size), depth); e.halt {
			return b
		}
	}
	return b
}

// messages appends messages. The length of one is likely to take as many bytes as that of the one before.
func (e *Encoder) messages(b []byte, o *Op, s shape.Slice, depth int) []byte {
	guess := 1
	// Safety: the elements are pointers to structs.
	for _, p := range unsafe.Slice((*unsafe.Pointer)(s.Data), s.Len) {
		if p == nil {
			return e.failAt(b, o.Type.Elem, shape.WhyNil)
		}
		if b = e.room(b); e.halt {
			return b
		}
		if b = e.message(o.head(b), o.Plan, p, depth, guess); e.halt {
			return b
		}
		guess = e.wide
	}
	return b
}

// groups appends the elements of a list, each between two tags.
func (e *Encoder) groups(b []byte, o *Op, s shape.Slice, depth int) []byte {
	// Safety: the elements are pointers to structs.
	for _, p := range unsafe.Slice((*unsafe.Pointer)(s.Data), s.Len) {
		if p == nil {
			return e.failAt(b, o.Type.Elem, shape.WhyNil)
		}
		if b = e.room(b); e.halt {
			return b
		}
		if b = e.group(b, o, p, depth); e.halt {
			return b
		}
	}
	return b
}

// chunk is how many numbers are made ready to be written at once.
const chunk = 64

// packed appends the numbers of s behind one tag.
func (e *Encoder) packed(b []byte, o *Op, s shape.Slice) []byte {
	if s.Len == 0 {
		return b
	}
	// Safety: s has s.Len elements of the layout that form says. So for all of them below.
	switch o.Elem {
	case Bool:
		return e.bytes(raw.Append(o.head(b), uint64(s.Len)), unsafe.Slice((*byte)(s.Data), s.Len))
	case Fixed32:
		return fixed(e, b, o, unsafe.Slice((*uint32)(s.Data), s.Len), 4, raw.To32)
	case Fixed64:
		return fixed(e, b, o, unsafe.Slice((*uint64)(s.Data), s.Len), 8, raw.To64)
	}
	b = o.head(b)
	if cap(b)-len(b)-headroom >= s.Len*raw.MaxVarint {
		begin, guess := len(b), raw.Size(uint64(s.Len))
		b = putNumbers(b[:begin+guess], o.Elem, s.Data, s.Len)
		wide := e.wide
		b = e.close(b, begin, guess) // there is room: the numbers did not take all of theirs, or the guess was right
		e.wide = wide
		return b
	}
	if wide := raw.Size(uint64(s.Len)); !e.inside && wide == raw.Size(uint64(s.Len)*raw.MaxVarint) {
		// As long as its length is, whatever the numbers are.
		e.Out.Commit(b)
		head := e.Out.Reserve(wide)
		b = e.numbers(e.Out.Block(), o, s)
		e.Out.Commit(b)
		n := e.Out.Since(head) - wide
		if n > maxSize {
			return e.stop(e.Out.Block(), errTooLong)
		}
		e.Out.Patch(head, raw.Append(nil, uint64(n)))
		return e.Out.Block()
	}
	n := sizeNumbers(o.Elem, s.Data, s.Len)
	if n > maxSize {
		return e.stop(b, errTooLong)
	}
	b = raw.Append(b, uint64(n))
	if e.inside && n > cap(b)-len(b)-chunk*raw.MaxVarint {
		e.halt = true
		return b
	}
	return e.numbers(b, o, s)
}

// numbers appends the numbers of s, block by block. In a message that must not leave its block there is room
// for all of them.
func (e *Encoder) numbers(b []byte, o *Op, s shape.Slice) []byte {
	size := o.Type.Elem.Size
	for i := 0; i < s.Len; i += chunk {
		if cap(b)-len(b) < chunk*raw.MaxVarint {
			b = e.Out.Next(b)
		}
		// Safety: the slice has more than i elements of that size.
		b = putNumbers(b, o.Elem, unsafe.Add(s.Data, i*size), min(chunk, s.Len-i))
	}
	return b
}

// putNumbers appends n numbers of a form. There is room for n that are as long as can be.
func putNumbers(b []byte, form Form, p unsafe.Pointer, n int) []byte {
	at := len(b)
	if form == Int64 {
		// Safety: p points to n numbers of that size.
		return b[:at+raw.PutNumbers(b[at:cap(b)], unsafe.Slice((*uint64)(p), n))]
	}
	var some [chunk]uint64
	size := form.wide()
	for i := 0; i < n; i += chunk {
		k := min(n-i, chunk)
		// Safety: i is less than n.
		widen(some[:k], form, unsafe.Add(p, i*size))
		at += raw.PutNumbers(b[at:cap(b)], some[:k])
	}
	return b[:at]
}

// wide is how many bytes a varint's number has in a slice.
func (f Form) wide() int {
	if f == Int64 || f == Sint64 {
		return 8
	}
	return 4
}

// widen makes what is written of len(dst) numbers at p.
func widen(dst []uint64, form Form, p unsafe.Pointer) {
	// Safety: p points to len(dst) numbers of that size.
	switch form {
	case Sint64:
		raw.Zigzags64(dst, unsafe.Slice((*uint64)(p), len(dst)))
	case Uint32:
		raw.Widen(dst, unsafe.Slice((*uint32)(p), len(dst)))
	case Sint32:
		raw.Zigzags32(dst, unsafe.Slice((*uint32)(p), len(dst)))
	case Int64:
		copy(dst, unsafe.Slice((*uint64)(p), len(dst)))
	default: // Int32, Closed
		raw.WidenSigned(dst, unsafe.Slice((*uint32)(p), len(dst)))
	}
}

// sizeNumbers is how many bytes n numbers of a form take.
func sizeNumbers(form Form, p unsafe.Pointer, n int) int {
	// Safety: as in putNumbers.
	if form == Int64 {
		return raw.SizeNumbers(unsafe.Slice((*uint64)(p), n))
	}
	var some [chunk]uint64
	all, size := 0, form.wide()
	for i := 0; i < n; i += chunk {
		k := min(n-i, chunk)
		widen(some[:k], form, unsafe.Add(p, i*size))
		all += raw.SizeNumbers(some[:k])
	}
	return all
}

// fixed appends numbers of size bytes.
func fixed[T raw.Word](e *Encoder, b []byte, o *Op, s []T, size int, to func([]byte, []T)) []byte {
	if len(s) > maxSize/size {
		return e.stop(b, errTooLong)
	}
	b = raw.Append(o.head(b), uint64(len(s)*size))
	if e.inside && len(s)*size > cap(b)-len(b)-headroom {
		e.halt = true
		return b
	}
	for {
		n, at := min(len(s), (cap(b)-len(b))/size), len(b)
		b = b[:at+n*size]
		to(b[at:], s[:n])
		if s = s[n:]; len(s) == 0 {
			return b
		}
		b = e.Out.Next(b)
	}
}
