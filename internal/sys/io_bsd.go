//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// MaxPieces is how many pieces Writev looks at.
const MaxPieces = 64

// Recv receives into p, which must not be empty. fd must be non-blocking.
// EAGAIN: nothing has arrived. 0, nil: the peer has closed its side.
func Recv(fd uintptr, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, syscall.EINVAL
	}
	for {
		if n, err = syscall.Read(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// Send sends from p and returns how many bytes the kernel took. fd must be
// non-blocking. Go's runtime turns SIGPIPE into EPIPE.
func Send(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Write(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// Writev sends the pieces in order, one call each, until one is cut short.
func Writev(fd uintptr, iov [][]byte) (n int, err error) {
	for _, p := range iov[:min(len(iov), MaxPieces)] {
		k, err := Send(fd, p)
		n += k
		if err != nil && n == 0 {
			return 0, err
		}
		if err != nil || k < len(p) {
			break // an error shows again at the next call
		}
	}
	return n, nil
}

// EnableInq fails: only Linux tells.
func EnableInq(fd uintptr) error { return ErrUnsupported }

// RecvInq is Recv; inq is -1, not known.
func RecvInq(fd uintptr, p []byte) (n, inq int, err error) {
	n, err = Recv(fd, p)
	return n, -1, err
}

// Broken is false: not known.
func Broken(fd uintptr) bool { return false }

// Close closes fd, which is given.
func Close(fd uintptr) error { return syscall.Close(int(fd)) }

// SetAbortOnClose makes Close send a reset instead of a FIN.
func SetAbortOnClose(fd uintptr) error {
	return unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}
