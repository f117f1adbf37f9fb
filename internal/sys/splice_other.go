//go:build !linux

package sys

// OpenPipe fails: splicing is for Linux.
func OpenPipe(size int) (r, w uintptr, granted int, err error) { return 0, 0, 0, ErrUnsupported }

// Splice fails, as OpenPipe.
func Splice(in, out uintptr, n int) (int, error) { return 0, ErrUnsupported }

// ReadPipe fails, as OpenPipe.
func ReadPipe(fd uintptr, p []byte) (n int, err error) { return 0, ErrUnsupported }
