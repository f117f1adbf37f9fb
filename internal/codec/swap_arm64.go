package codec

import "unsafe"

// hasVectors is constant: every arm64 that Go runs on has NEON.
func hasVectors() bool { return true }

// hasWide is constant: there are no wider vectors than NEON's here.
func hasWide() bool { return false }

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

func wide16(_, _ unsafe.Pointer, _ int) { panic("codec: no wide vectors here") }
func wide32(_, _ unsafe.Pointer, _ int) { panic("codec: no wide vectors here") }
func wide64(_, _ unsafe.Pointer, _ int) { panic("codec: no wide vectors here") }
