//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package sys

import "time"

// MaxPieces is how many pieces Readv and Writev look at.
const MaxPieces = 64

// Recv fails: raw descriptors are not served on this system.
func Recv(fd uintptr, p []byte) (n int, err error) { return 0, ErrUnsupported }

// Send fails, as Recv.
func Send(fd uintptr, p []byte) (n int, err error) { return 0, ErrUnsupported }

// Writev fails, as Recv.
func Writev(fd uintptr, iov [][]byte) (n int, err error) { return 0, ErrUnsupported }

// Readv fails, as Recv.
func Readv(fd uintptr, iov [][]byte) (n int, err error) { return 0, ErrUnsupported }

// EnableInq fails, as Recv.
func EnableInq(fd uintptr) error { return ErrUnsupported }

// RecvInq fails, as Recv.
func RecvInq(fd uintptr, p []byte) (n, inq int, err error) { return 0, -1, ErrUnsupported }

// Accept4 fails, as Recv.
func Accept4(fd uintptr) (uintptr, error) { return 0, ErrUnsupported }

// Close fails, as Recv.
func Close(fd uintptr) error { return ErrUnsupported }

// SetNoDelay fails, as Recv.
func SetNoDelay(fd uintptr, on bool) error { return ErrUnsupported }

// SetKeepAlive fails, as Recv.
func SetKeepAlive(fd uintptr, idle, interval time.Duration, count int) error { return ErrUnsupported }

// SetReusePort fails, as Recv.
func SetReusePort(fd uintptr, on bool) error { return ErrUnsupported }

// SetAbortOnClose fails, as Recv.
func SetAbortOnClose(fd uintptr) error { return ErrUnsupported }

// SocketError fails, as Recv.
func SocketError(fd uintptr) error { return ErrUnsupported }

// PeerCred fails, as Recv.
func PeerCred(fd uintptr) (Cred, error) { return Cred{}, ErrUnsupported }
