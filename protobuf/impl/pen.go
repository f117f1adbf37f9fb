package impl

import (
	"encoding/binary"
	"unicode/utf8"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
)

// A Pen is where generated code writes the next field of a run. Its methods look at no room: the
// run has made sure of it for all of its fields, each number with the bytes that it takes at the most, and
// of slack behind them. A pen is one word, where a slice is three, and what has it written need not
// be ready to make a new slice.
//
// Safety: generated code holds each string and slice that it has measured in a variable, and writes that: if
// somebody changes the message meanwhile, the bytes are wrong, but they stay within the room.
type Pen struct{ p unsafe.Pointer }

// slack is how many bytes are free behind a run.
const slack = 32

// End gives a pen behind b, which has room.
func End(b []byte) Pen {
	// Safety: there is room behind b, so this is within the block.
	return Pen{unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), len(b))}
}

// Upto gives b with what was written behind it.
func (w Pen) Upto(b []byte) []byte {
	// Safety: addresses are compared only.
	return b[:uintptr(w.p)-uintptr(unsafe.Pointer(unsafe.SliceData(b)))]
}

// Byte writes one byte, such as the first one of a tag of two.
func (w Pen) Byte(c byte) Pen {
	// Safety: the run has room for it.
	*(*byte)(w.p) = c
	return Pen{unsafe.Add(w.p, 1)}
}

// Number writes a number behind a tag.
func (w Pen) Number(tag byte, v uint64) Pen {
	// Safety: the run has room for it.
	*(*[2]byte)(w.p) = [2]byte{tag, byte(v)}
	if v >= 0x80 {
		return w.long(v)
	}
	return Pen{unsafe.Add(w.p, 2)}
}

// Bool writes one byte behind a tag.
func (w Pen) Bool(tag, v byte) Pen {
	// Safety: the run has room for it.
	binary.LittleEndian.PutUint16((*[2]byte)(w.p)[:], uint16(tag)|uint16(v)<<8)
	return Pen{unsafe.Add(w.p, 2)}
}

// long writes a number of more than one byte behind the tag at w. It stays out of Number, which is inlined.
//
//go:noinline
func (w Pen) long(v uint64) Pen {
	// Safety: the run has room for it.
	p := (*[1 + raw.MaxVarint]byte)(w.p)
	if v >= 1<<56 {
		return Pen{unsafe.Add(w.p, 1+raw.PutLong((*[raw.MaxVarint]byte)(p[1:]), v))}
	}
	word, n := raw.Septets(v)
	binary.LittleEndian.PutUint64(p[1:], word)
	return Pen{unsafe.Add(w.p, 1+n)}
}

// Fixed32 writes four bytes behind a tag.
func (w Pen) Fixed32(tag byte, v uint32) Pen {
	// Safety: the run has room for it.
	*(*byte)(w.p) = tag
	binary.LittleEndian.PutUint32((*[4]byte)(unsafe.Add(w.p, 1))[:], v)
	return Pen{unsafe.Add(w.p, 5)}
}

// Fixed64 writes eight bytes behind a tag.
func (w Pen) Fixed64(tag byte, v uint64) Pen {
	// Safety: the run has room for it.
	*(*byte)(w.p) = tag
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(w.p, 1))[:], v)
	return Pen{unsafe.Add(w.p, 9)}
}

// length writes the length of less than Whole bytes behind a tag.
func (w Pen) length(tag byte, n int) Pen {
	// Safety: the run has room for it.
	if n < 0x80 {
		return w.Bool(tag, byte(n))
	}
	*(*[3]byte)(w.p) = [3]byte{tag, byte(n) | 0x80, byte(n >> 7)}
	return Pen{unsafe.Add(w.p, 3)}
}

// Bytes writes bytes behind a tag.
func (w Pen) Bytes(tag byte, v []byte) Pen {
	// Safety: the run has room for it.
	p := w.length(tag, len(v)).p
	copy(unsafe.Slice((*byte)(p), len(v)), v)
	return Pen{unsafe.Add(p, len(v))}
}

// AnyText writes a string that need not be UTF-8 behind a tag.
func (w Pen) AnyText(tag byte, s string) Pen {
	// Safety: the run has room for it.
	p := w.length(tag, len(s)).p
	copy(unsafe.Slice((*byte)(p), len(s)), s)
	return Pen{unsafe.Add(p, len(s))}
}

const (
	// few is how many numbers have a length of one byte whatever they are.
	few = 0x7f / raw.MaxVarint
	// fewRoom is what they take with tag and length, and what is written behind the last one.
	fewRoom = 2 + few*raw.MaxVarint + 8
)

// Few tells whether Int64s may be asked for a list, behind b.
func Few[T any](b []byte, list []T) bool { return len(list) <= few && cap(b)-len(b) >= fewRoom }

// Int64s appends packed numbers of which Few told that they are few, behind a tag of one byte.
func Int64s[T ~int64 | ~uint64](b []byte, tag byte, list []T) []byte {
	// Safety: the numbers are such words, and there is fewRoom.
	return End(b).numbers(tag, *(*[]uint64)(unsafe.Pointer(&list))).Upto(b)
}

// numbers writes some packed numbers behind a tag; nothing if there are none.
func (w Pen) numbers(tag byte, list []uint64) Pen {
	if len(list) == 0 {
		return w
	}
	// Safety: there is fewRoom.
	p := unsafe.Add(w.p, 2)
	for _, v := range list {
		at := (*[raw.MaxVarint]byte)(p)
		switch {
		case v < 0x80:
			at[0] = byte(v)
			p = unsafe.Add(p, 1)
		case v < 1<<56:
			word, n := raw.Septets(v)
			binary.LittleEndian.PutUint64(at[:], word)
			p = unsafe.Add(p, n)
		default:
			p = unsafe.Add(p, raw.PutLong(at, v))
		}
	}
	w.Bool(tag, byte(uintptr(p)-uintptr(w.p)-2))
	return Pen{p}
}

// Text writes a string behind a tag of one byte, and notes if it is not UTF-8. Short ones are copied in place: the
// calls would cost as much as the bytes.
func (e *Encoder) Text(w Pen, tag byte, s string) Pen {
	n := len(s)
	if n < 8 || n > 64 {
		// Safety: the run has room for it.
		p := w.length(tag, n).p
		if !codec.CopyASCII(p, s) && !utf8.ValidString(s) {
			e.bad = true
		}
		return Pen{unsafe.Add(p, n)}
	}
	// Safety: all loads are within s, and all stores within the room for it. Of 8 bytes and more, the last ones are
	// copied with some that were already.
	src, dst := unsafe.Pointer(unsafe.StringData(s)), w.Bool(tag, byte(n)).p
	w = Pen{unsafe.Add(dst, n)}
	var high uint64
	if n <= 16 {
		a, z := word(src, 0), word(src, n-8)
		put(dst, 0, a)
		put(dst, n-8, z)
		high = a | z
	} else {
		a, b, y, z := word(src, 0), word(src, 8), word(src, n-16), word(src, n-8)
		put(dst, 0, a)
		put(dst, 8, b)
		if high = a | b | y | z; n > 32 {
			c, d, u, v := word(src, 16), word(src, 24), word(src, n-32), word(src, n-24)
			put(dst, 16, c)
			put(dst, 24, d)
			put(dst, n-32, u)
			put(dst, n-24, v)
			high |= c | d | u | v
		}
		put(dst, n-16, y)
		put(dst, n-8, z)
	}
	if high&codec.High != 0 && !utf8.ValidString(s) {
		e.bad = true
	}
	return w
}

// word loads eight bytes.
//
// Safety: the caller says that they are there.
func word(p unsafe.Pointer, i int) uint64 { return *(*uint64)(unsafe.Add(p, i)) }

// put stores them.
//
// Safety: as word.
func put(p unsafe.Pointer, i int, v uint64) { *(*uint64)(unsafe.Add(p, i)) = v }
