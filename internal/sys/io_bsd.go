//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package sys

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxPieces is how many pieces Readv and Writev look at.
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

// Readv receives into the first piece that is not empty.
func Readv(fd uintptr, iov [][]byte) (n int, err error) {
	for _, p := range iov {
		if len(p) > 0 {
			return Recv(fd, p)
		}
	}
	return 0, syscall.EINVAL
}

// EnableInq fails: only Linux tells.
func EnableInq(fd uintptr) error { return ErrUnsupported }

// RecvInq is Recv; inq is -1, not known.
func RecvInq(fd uintptr, p []byte) (n, inq int, err error) {
	n, err = Recv(fd, p)
	return n, -1, err
}

// Accept4 takes a waiting connection: non-blocking and closed on exec.
func Accept4(fd uintptr) (uintptr, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	nfd, _, err := syscall.Accept(int(fd))
	if err != nil {
		return 0, err
	}
	syscall.CloseOnExec(nfd)
	if err := syscall.SetNonblock(nfd, true); err != nil {
		syscall.Close(nfd)
		return 0, err
	}
	return uintptr(nfd), nil
}

// Close closes fd, which is given.
func Close(fd uintptr) error { return syscall.Close(int(fd)) }

// SetNoDelay turns TCP_NODELAY on or off.
func SetNoDelay(fd uintptr, on bool) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, boolInt(on))
}

// SetKeepAlive turns probing of silent peers on, or off if idle is negative;
// the times are the system's own here.
func SetKeepAlive(fd uintptr, idle, interval time.Duration, count int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE, boolInt(idle >= 0))
}

// SetReusePort lets several sockets listen on one port; before bind.
func SetReusePort(fd uintptr, on bool) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, boolInt(on))
}

// SetAbortOnClose makes Close send a reset instead of a FIN.
func SetAbortOnClose(fd uintptr) error {
	return unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// SocketError takes the pending error off the socket.
func SocketError(fd uintptr) error {
	e, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	switch {
	case err != nil:
		return err
	case e != 0:
		return syscall.Errno(e)
	}
	return nil
}

// PeerCred fails: only Linux is served.
func PeerCred(fd uintptr) (Cred, error) { return Cred{}, ErrUnsupported }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
