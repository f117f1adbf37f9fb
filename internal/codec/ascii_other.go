//go:build !amd64

package codec

import "unsafe"

// canASCII is constant: there are no vectors for this here.
func canASCII() bool { return false }

func vectorASCII(_ unsafe.Pointer, _ int) bool { panic("codec: no vectors here") }

func vectorCopyASCII(_, _ unsafe.Pointer, _ int) bool { panic("codec: no vectors here") }
