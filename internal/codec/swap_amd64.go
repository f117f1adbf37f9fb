package codec

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasVectors reports AVX2. It is a load of what the processor has told at
// start, so that there is nothing of our own to choose and keep.
func hasVectors() bool { return cpu.X86.HasAVX2 }

// swap16, swap32 and swap64 reverse the bytes of each element of the n bytes at
// src and store them at dst. n is at least 16 and a multiple of the element's size.
// All is loaded before it can be overwritten if dst is src.
//
//go:noescape
func swap16(dst, src unsafe.Pointer, n int)

//go:noescape
func swap32(dst, src unsafe.Pointer, n int)

//go:noescape
func swap64(dst, src unsafe.Pointer, n int)
