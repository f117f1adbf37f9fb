package codec

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasVectors reports AVX2. It is a load of what the processor has told at
// start, so that there is nothing of our own to choose and keep.
func hasVectors() bool { return cpu.X86.HasAVX2 }

// hasWide reports AVX-512, on processors of Ice Lake's and Zen 4's generations and
// later: those before clock down when they see vectors of 64 bytes.
func hasWide() bool { return cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI2 }

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

// wide16, wide32 and wide64 do the same for n of wideAbove or more.
//
//go:noescape
func wide16(dst, src unsafe.Pointer, n int)

//go:noescape
func wide32(dst, src unsafe.Pointer, n int)

//go:noescape
func wide64(dst, src unsafe.Pointer, n int)
