package codec

import (
	"unicode/utf8"
	"unsafe"
)

const (
	// High are the bits that no character of one byte has.
	High = 0x8080808080808080
	// asciiVector is how many bytes are looked at by vectors at the least. The assembly relies on it.
	asciiVector = 64
	// copyVector is how many bytes are copied by the same loop at the most: memmove has better ones for many.
	copyVector = 16 << 10
)

// UTF8 tells whether s is UTF-8. Most strings have characters of one byte only, for which it looks
// at many of them at a time.
func UTF8(s string) bool { return ASCII(s) || utf8.ValidString(s) }

// UTF8Bytes is UTF8 for bytes.
func UTF8Bytes(b []byte) bool {
	// Safety: the string is gone when UTF8 returns, and nobody writes meanwhile.
	return UTF8(unsafe.String(unsafe.SliceData(b), len(b)))
}

// ASCII tells whether all characters of s have one byte.
func ASCII(s string) bool {
	n := len(s)
	// Safety: the loads below lie within the n bytes of s.
	p := unsafe.Pointer(unsafe.StringData(s))
	switch {
	case n >= asciiVector && canASCII():
		return vectorASCII(p, n)
	case n >= 8:
		// The last eight bytes, some of which come again.
		any := *(*uint64)(unsafe.Add(p, n-8))
		for ; n > 8; n -= 8 {
			any |= *(*uint64)(p)
			p = unsafe.Add(p, 8)
		}
		return any&High == 0
	case n >= 4:
		return (*(*uint32)(p)|*(*uint32)(unsafe.Add(p, n-4)))&(High&0xffffffff) == 0
	}
	var any byte
	for i := range n {
		any |= s[i]
	}
	return any < utf8.RuneSelf
}

// CopyASCII copies s to dst, which has room for it and shares no memory with it, and tells whether all of its characters have
// one byte: for short strings in one go.
//
// Safety: the caller says that there are len(s) bytes at dst.
func CopyASCII(dst unsafe.Pointer, s string) bool {
	n := len(s)
	p := unsafe.Pointer(unsafe.StringData(s))
	switch {
	case n > 64 && n <= copyVector && canASCII():
		return vectorCopyASCII(dst, p, n)
	case n > 64:
		copy(unsafe.Slice((*byte)(dst), n), s)
		return ASCII(s)
	case n > 32:
		a, b := *(*[4]uint64)(p), *(*[4]uint64)(unsafe.Add(p, n-32))
		*(*[4]uint64)(dst), *(*[4]uint64)(unsafe.Add(dst, n-32)) = a, b
		return (a[0]|a[1]|a[2]|a[3]|b[0]|b[1]|b[2]|b[3])&High == 0
	case n > 16:
		a, b := *(*[2]uint64)(p), *(*[2]uint64)(unsafe.Add(p, n-16))
		*(*[2]uint64)(dst), *(*[2]uint64)(unsafe.Add(dst, n-16)) = a, b
		return (a[0]|a[1]|b[0]|b[1])&High == 0
	case n >= 8:
		a, b := *(*uint64)(p), *(*uint64)(unsafe.Add(p, n-8))
		*(*uint64)(dst), *(*uint64)(unsafe.Add(dst, n-8)) = a, b
		return (a|b)&High == 0
	case n >= 4:
		a, b := *(*uint32)(p), *(*uint32)(unsafe.Add(p, n-4))
		*(*uint32)(dst), *(*uint32)(unsafe.Add(dst, n-4)) = a, b
		return (a|b)&(High&0xffffffff) == 0
	}
	var any byte
	for i := range n {
		any |= s[i]
		*(*byte)(unsafe.Add(dst, i)) = s[i]
	}
	return any < utf8.RuneSelf
}
