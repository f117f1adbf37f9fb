package codec

import "unsafe"

// canASCII reports whether vectorASCII and vectorCopyASCII may be called.
func canASCII() bool { return hasVectors() }

// vectorASCII tells whether none of the n bytes at p, asciiVector or more, has its highest bit set.
//
//go:noescape
func vectorASCII(p unsafe.Pointer, n int) bool

// vectorCopyASCII copies these bytes to dst on the way, which shares none of them.
//
//go:noescape
func vectorCopyASCII(dst, p unsafe.Pointer, n int) bool
