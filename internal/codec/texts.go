package codec

import (
	"encoding/binary"
	"unsafe"
)

const (
	// ChunkSize is how many bytes of short strings share an allocation, and how
	// many a small string can pin.
	ChunkSize = 2 << 10
	// Long strings have an allocation of their own: so a chunk is filled to three
	// quarters at the least.
	Long = ChunkSize / 4
	// Short is the length up to which a string is copied without a call: so many
	// bytes are moved, whatever its length.
	Short = 32
)

// Texts copies the strings of one message, one behind the other: many short ones
// with one allocation, of which nothing is theirs alone. It takes less memory than a
// Window, and copies a string again when it is read again. The zero value is
// ready; one goroutine at a time.
type Texts struct {
	chunk []byte // from at on it is free, and was not cleared
	at    int
	rest  string // a copy of the message from byte from on, to its end
	from  int

	Frame *Frame // set before the first Copy: long strings may refer to it; nil: they are copied
}

// Fits tells whether Take may be asked for a string of n bytes, where left bytes of
// the message are left from its begin on; n need not be checked before. All three
// are small enough to be inlined.
func (t *Texts) Fits(n, left int) bool {
	return uint(n) <= Short && left >= Short && t.at <= len(t.chunk)-Short
}

// A Head is the first Short bytes of a string, and of what follows it, in registers.
type Head struct{ a, b, c, d uint64 }

// HeadOf reads a Head. A copy from array to array would be a call of memmove, since the two
// might overlap.
func HeadOf(src []byte) Head {
	p := (*[Short]byte)(src)
	o := binary.NativeEndian
	return Head{o.Uint64(p[0:]), o.Uint64(p[8:]), o.Uint64(p[16:]), o.Uint64(p[24:])}
}

// ASCII tells that all bytes of h are characters of one byte: those that follow the string too,
// so that false does not say that it has others.
func (h Head) ASCII() bool { return (h.a|h.b|h.c|h.d)&0x8080808080808080 == 0 }

// Take makes the string of n bytes that h begins with, of which Fits told that it
// fits.
func (t *Texts) Take(h Head, n int) string {
	// Safety: the chunk has Short bytes from at on, and n is not more. What is moved
	// beyond n is overwritten by the next string or never looked at: no string has
	// it. Nobody writes to the bytes before at again.
	p := (*[Short]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.chunk)), t.at))
	t.at += n
	o := binary.NativeEndian
	o.PutUint64(p[0:], h.a)
	o.PutUint64(p[8:], h.b)
	o.PutUint64(p[16:], h.c)
	o.PutUint64(p[24:], h.d)
	return unsafe.String(&p[0], n)
}

// Copied gives msg[o:o+n], which must lie within msg, if the rest of the message has been copied already: it is
// as soon as it is short.
func (t *Texts) Copied(o, n int) (s string, ok bool) {
	if r := o - t.from; t.rest != "" && r >= 0 {
		return t.rest[r:][:n], true
	}
	return "", false
}

// Copy copies msg[o:o+n], which must lie within msg: any string, while Take is
// for most of them. msg is the same in every call.
//
//go:noinline
func (t *Texts) Copy(msg []byte, o, n int) string {
	if n == 0 {
		return "" // not a reference to the chunk
	}
	if s, ok := t.Copied(o, n); ok {
		return s
	}
	switch {
	case n >= Long:
		return t.Frame.text(msg[o : o+n])
	case n > len(t.chunk)-t.at:
		// All strings that are still to come are in what is left of the message.
		left := len(msg) - o
		if left <= Long {
			// Copying some bytes in vain is faster than asking for an uncleared chunk.
			t.rest, t.from, t.chunk = string(msg[o:]), o, nil
			return t.rest[:n]
		}
		chunk := Uncleared(min(ChunkSize, left))
		t.chunk, t.at = chunk[:cap(chunk)], 0
	}
	dst := t.chunk[t.at:][:n]
	t.at += copy(dst, msg[o:])
	// Safety: nobody writes to the bytes before at again.
	return unsafe.String(&dst[0], n)
}
