//go:build !linux

package sys

// MapGuarded fails: guarded memory is for Linux.
func MapGuarded(n int) ([]byte, error) { return nil, ErrUnsupported }

// Protect fails: guarded memory is for Linux.
func Protect(mem []byte) error { return ErrUnsupported }

// Unprotect fails: guarded memory is for Linux.
func Unprotect(mem []byte) error { return ErrUnsupported }
