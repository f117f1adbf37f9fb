//go:build !amd64 && !arm64

package codec

import "unsafe"

// hasVectors is constant: on this architecture the loops do it all, whatever
// its byte order.
func hasVectors() bool { return false }

// hasWide is constant too.
func hasWide() bool { return false }

func swap16(_, _ unsafe.Pointer, _ int) { panic("codec: no vectors here") }
func swap32(_, _ unsafe.Pointer, _ int) { panic("codec: no vectors here") }
func swap64(_, _ unsafe.Pointer, _ int) { panic("codec: no vectors here") }
func wide16(_, _ unsafe.Pointer, _ int) { panic("codec: no vectors here") }
func wide32(_, _ unsafe.Pointer, _ int) { panic("codec: no vectors here") }
func wide64(_, _ unsafe.Pointer, _ int) { panic("codec: no vectors here") }
