//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package sys

// MaxPieces is how many pieces Writev looks at.
const MaxPieces = 64

// Recv fails: raw descriptors are not served on this system.
func Recv(fd uintptr, p []byte) (n int, err error) { return 0, ErrUnsupported }

// Send fails, as Recv.
func Send(fd uintptr, p []byte) (n int, err error) { return 0, ErrUnsupported }

// Writev fails, as Recv.
func Writev(fd uintptr, iov [][]byte) (n int, err error) { return 0, ErrUnsupported }

// EnableInq fails, as Recv.
func EnableInq(fd uintptr) error { return ErrUnsupported }

// RecvInq fails, as Recv.
func RecvInq(fd uintptr, p []byte) (n, inq int, err error) { return 0, -1, ErrUnsupported }

// Close fails, as Recv.
func Close(fd uintptr) error { return ErrUnsupported }

// SetAbortOnClose fails, as Recv.
func SetAbortOnClose(fd uintptr) error { return ErrUnsupported }
